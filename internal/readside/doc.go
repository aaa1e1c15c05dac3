// Package readside puts the parts that people and other systems see on a NATS
// connection: gateways, and projections with a store. It stands apart from
// internal/parts, so that the service binaries do not link what they never run.
package readside
