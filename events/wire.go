package events

import (
	"bytes"
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Commits are written by encoding/json, whose bytes the hash chain has frozen,
// and read by its successor: in one pass instead of four. The successor does not
// take what Encode never writes: a name twice in an object, text that is no
// UTF-8. A name in another case is a name it does not know.

// wireCommit is the form of a commit.
type wireCommit struct {
	V      int         `json:"v"`
	ID     string      `json:"id"`
	Tenant string      `json:"tenant"`
	Chat   string      `json:"chat"`
	Rev    uint64      `json:"rev"`
	Prev   string      `json:"prev"`
	At     Time        `json:"at"`
	Cause  Cause       `json:"cause"`
	Events []wireEvent `json:"events"`
}

// wireEvent is an event beside its name. Data is nil if this release does not
// know the name.
type wireEvent struct {
	Type Type  `json:"type"`
	Data Event `json:"data"`
}

var errNoEvent = errors.New("event without data")

// UnmarshalJSONFrom implements [jsonv2.UnmarshalerFrom]. The name comes before
// the data in all that Encode wrote, so the data is read straight into its type;
// elsewhere the order of names means nothing, so data that comes first waits.
func (w *wireEvent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return errors.Join(errNoEvent, d.SkipValue())
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var early jsontext.Value
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "type":
			err = jsonv2.UnmarshalDecode(d, &w.Type)
		case "data":
			if w.Type != "" {
				err = w.read(d)
				break
			}
			early, err = d.ReadValue()
			early = early.Clone() // it is gone with the next read
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if early != nil {
		return unmarshal(early, (*eventData)(w))
	}
	if _, known := kindOf[w.Type]; known && w.Data == nil {
		return errNoEvent
	}
	return nil
}

func (w *wireEvent) read(d *jsontext.Decoder) error {
	k, ok := kindOf[w.Type]
	if !ok {
		return d.SkipValue()
	}
	var err error
	w.Data, err = k.decode(d)
	return err
}

// eventData is an event of known name, read from its data alone.
type eventData wireEvent

// UnmarshalJSONFrom implements [jsonv2.UnmarshalerFrom].
func (w *eventData) UnmarshalJSONFrom(d *jsontext.Decoder) error { return (*wireEvent)(w).read(d) }

func unmarshal(b []byte, into any) error { return jsonv2.Unmarshal(b, into) }

// marshal is JSON without HTML escapes: people read the log.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
