package protocol

import (
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/events"
)

// VerbErase deletes a chat for good.
const VerbErase Verb = "erase"

// Erase deletes the chat for good, with all its content; only its id stays taken.
// What runs is interrupted first. There is no way back. With Rev it does so only while
// that is the chat's newest commit: whoever has kept a copy names the last one in it. A
// Rev of 0 is none that a chat can have, so that nothing is erased.
type Erase struct {
	V   int     `json:"v"`
	Rev *uint64 `json:"rev,omitempty"`
}

// Verb implements [Body].
func (Erase) Verb() Verb { return VerbErase }
func (Erase) body()      {}

// decodeErase takes a rev that is null for one that its sender meant to name: what
// cannot be undone is not done by mistake.
func decodeErase(data []byte) (Body, error) {
	body, err := decodeBody[Erase](data)
	if err != nil {
		return nil, err
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(data, &named); err != nil {
		return nil, refuse(events.CodeBadCommand, "body: %s", Unreadable(err))
	}
	for name, value := range named {
		if strings.EqualFold(name, "rev") && string(value) == "null" {
			return nil, refuse(events.CodeBadCommand, "body: rev: want a whole number, or leave it out to erase the chat as it is then")
		}
	}
	return body, nil
}
