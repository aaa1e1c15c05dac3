package events

import (
	"bytes"
	"slices"
)

// Kept is c as everybody will read it in body, which [Encode] gave for it. What
// cannot have changed on the way is not read back.
func Kept(c Commit, body []byte) (Commit, error) {
	if isExact(c, body) {
		return c, nil
	}
	return Decode(body)
}

// mended is what encoding/json writes in place of bytes that are no UTF-8, and of
// nothing else: the character itself stands as it is.
var mended = []byte(`\ufffd`)

// isExact reports whether body says what c does, byte by byte.
func isExact(c Commit, body []byte) bool {
	return !slices.ContainsFunc(c.Events, holdsJSON) && !bytes.Contains(body, mended)
}

// holdsJSON reports whether an event can hold JSON as it came, whose spaces are not
// written: schemas, in settings.
func holdsJSON(e Event) bool {
	switch e.(type) { //nolint:gochecksumtype // TestWhatIsKeptIsWhatIsRead finds one that is missing
	case ChatCreated, ChatInherited, ChatSpawned, ChatConfigured, InputAccepted, TurnStarted:
		return true
	default:
		return false
	}
}
