// Package capture takes what a program writes while a tool runs it: it keeps a
// bounded part for the result, and shows the newest to whoever watches.
package capture
