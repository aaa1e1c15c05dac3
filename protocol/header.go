package protocol

// Headers. NATS keys are case-sensitive; this is the one spelling.
const (
	HeaderID          = "Everturn-Id"    // of a command: a ULID minted by the client
	HeaderBy          = "Everturn-By"    // of a command: who the sender says it is
	HeaderTypes       = "Everturn-Types" // of a commit: its event types, comma separated
	HeaderOwes        = "Everturn-Owes"  // of a commit: what the state after it owes, comma separated
	HeaderTraceparent = "traceparent"    // W3C
)
