// Package wiretap listens on the connection to a provider.
//
// The library that speaks the providers' protocols tells too little about what
// came: not whether an answer was complete, what was counted, why the model
// stopped, or what exactly went wrong. A [Transport] stands below it, as the
// round tripper of its HTTP client, and shows each event of an answer to a
// [Sink] before the library gets to read it. It never changes a byte.
//
// It also keeps the limits that only somebody at the bytes can keep: silence,
// the length of a line and of an answer; and it is the only place that knows
// the API key, so that no error of the library can hold it.
package wiretap
