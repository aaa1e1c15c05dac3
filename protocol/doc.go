// Package protocol holds what travels between the parts of Everturn: subjects,
// headers, and the bodies of commands, work, claims, results, timers and deltas.
//
// The author of a tool runner or client in another language reads this package
// and docs/COMMANDS.md. Bodies are data for ever, frozen in testdata/wire.
// Unknown fields are refused in commands and ignored everywhere else.
package protocol
