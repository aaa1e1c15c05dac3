// Package examples holds programs to start from. Each uses nothing but the
// packages that are there to be imported; a test builds and runs them.
package examples
