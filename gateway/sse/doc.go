// Package sse gives what happens in a chat to whoever speaks HTTP, as server-sent
// events.
package sse
