package chat

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
	jsonv2 "github.com/go-json-experiment/json"
)

// folded is a state with its place in the log, as a snapshot holds it.
type folded struct {
	Prev  string      `json:"prev"`
	At    events.Time `json:"at"`
	State fields      `json:"state"`
}

// Encode is the JSON of a state. [Decode] gives the same state back.
func Encode(s State) ([]byte, error) {
	b, err := json.Marshal(folded{Prev: s.prev, At: s.at, State: s.f})
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return b, nil
}

// Decode reads what [Encode] of the same [FoldVersion] wrote. Whatever the bytes
// are, it gives an error or a state that everything else can work with.
func Decode(b []byte) (State, error) {
	var f folded
	if err := jsonv2.Unmarshal(b, &f, jsonv2.RejectUnknownMembers(true)); err != nil {
		return State{}, fmt.Errorf("decode state: %w", err)
	}
	if wrong := f.State.unsound(); wrong != "" {
		return State{}, fmt.Errorf("decode state: %s", wrong)
	}
	for _, t := range f.State.Past {
		t.shown = new(shown)
	}
	s := State{f: f.State, prev: f.Prev, at: f.At, hashed: new(hashed)}
	at := f.State.Tip
	if t := f.State.Current; t != nil {
		at = t.Parent
	}
	s.path = pathTo(f.State.Past, at)
	return s, nil
}

// Hash is the digest of what the state is. It does not depend on any commit's
// clock: replacing all of them leaves it unchanged.
func (s State) Hash() string {
	b, err := json.Marshal(s.f)
	if err != nil {
		panic(fmt.Sprintf("chat: state without JSON: %v", err)) // plain structs only
	}
	return events.DigestOf(b).Hex()
}
