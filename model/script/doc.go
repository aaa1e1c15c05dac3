// Package script is a model that answers from a script: for trying things out
// without a provider, for demonstrations, and for tests that need an answer of
// a certain kind at a certain place.
//
// What it answers is a function of the request alone, so any process can ask
// it, again after a crash, and get the same. The one exception is a failure
// that is to happen a number of times, which is counted in the process.
// docs/SCRIPT.md describes the format.
package script
