//go:build race

package chat_test

// raced says that the race detector runs, which makes long lists slow.
const raced = true
