//go:build !race

package chat_test

const raced = false
