// Package roles makes the server configuration that Everturn is shipped with:
// who may connect to the bus, and what each of them may say and hear there.
//
// Tenants and groups of tool runners live in accounts of their own. An account
// is a bus of its own: a subject means nothing in it unless it was imported,
// JetStream is not there, and a reply subject names a place inside it, whatever
// it is called. So a rule that is kept by an import cannot be broken by a
// header, a reply subject or a wildcard. The users' permissions repeat the same
// lists; they keep people of one account from speaking for the service.
//
// The service itself is one account with a user for each kind of process. Those
// share the bus, so what holds them apart is permissions alone.
//
// docs/ROLES.md shows the lists and says what no configuration can keep.
package roles
