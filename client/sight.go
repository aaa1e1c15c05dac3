package client

import (
	"encoding/json"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Sight is one thing seen while watching a chat. Exactly one field is set.
type Sight struct {
	Commit   *events.Commit
	Delta    *protocol.Delta
	Progress *protocol.Progress

	// Missed says that commits happened and were not seen. What they said is in
	// the transcript.
	Missed *Missed
}

// Missed are the revs of commits that a watcher did not see, both included.
type Missed struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`

	// Running reports whether a turn was open when this was noticed; what was
	// missed may have been its end.
	Running bool `json:"running"`
}

// MarshalJSON implements [json.Marshaler]: an object with one field, named as in
// the feed's subjects.
func (s Sight) MarshalJSON() ([]byte, error) {
	var line struct {
		Commit   json.RawMessage    `json:"commit,omitempty"`
		Delta    *protocol.Delta    `json:"delta,omitempty"`
		Progress *protocol.Progress `json:"progress,omitempty"`
		Missed   *Missed            `json:"missed,omitempty"`
	}
	line.Delta, line.Progress, line.Missed = s.Delta, s.Progress, s.Missed
	if s.Commit != nil {
		var err error
		if line.Commit, err = events.Encode(*s.Commit); err != nil {
			return nil, err
		}
	}
	return json.Marshal(line)
}
