package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/everturn/everturn/events"
)

// canonical is the JSON that is hashed.
func canonical(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("model: request without JSON: %v", err)) // strings, numbers and bytes only
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// AppendCanonical appends [Message.Canonical] to b. Every decision that asks a
// model hashes a few messages, and most of them are plain text and calls: those
// are written by hand, in a third of the time.
func (m Message) AppendCanonical(b []byte) []byte {
	if written, ok := m.appendPlain(b); ok {
		return written
	}
	return append(b, canonical(m)...)
}

// appendPlain is false where there is anything but plain text and calls. What b then has
// behind its end means nothing.
func (m Message) appendPlain(b []byte) (_ []byte, ok bool) {
	b = append(b, `{"role":`...)
	if b, ok = appendText(b, string(m.Role)); !ok {
		return b, false
	}
	if len(m.Parts) > 0 {
		if b, ok = appendParts(append(b, `,"parts":`...), m.Parts); !ok {
			return b, false
		}
	}
	if len(m.Results) > 0 {
		b = append(b, `,"results":[`...)
		for i, r := range m.Results {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = r.appendPlain(b); !ok {
				return b, false
			}
		}
		b = append(b, ']')
	}
	return append(b, '}'), true
}

func (r Result) appendPlain(b []byte) (_ []byte, ok bool) {
	if b, ok = appendText(append(b, `{"wire_id":`...), r.WireID); !ok {
		return b, false
	}
	if b, ok = appendText(append(b, `,"name":`...), r.Name); !ok || r.Parts == nil {
		return b, false
	}
	if b, ok = appendParts(append(b, `,"parts":`...), r.Parts); !ok {
		return b, false
	}
	if r.IsError {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}'), true
}

func appendParts(b []byte, parts []events.Part) (_ []byte, ok bool) {
	b = append(b, '[')
	for i := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendPart(b, &parts[i]); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

func appendPart(b []byte, p *events.Part) (_ []byte, ok bool) {
	switch {
	case p.IsPlainText():
		b, ok = appendText(append(b, `{"type":"text","text":`...), p.Text)
	case p.IsPlainCall():
		b = strconv.AppendInt(append(b, `{"type":"call","ordinal":`...), int64(p.Ordinal), 10)
		if b, ok = appendText(append(b, `,"arguments":`...), p.Arguments); !ok {
			return b, false
		}
		if b, ok = appendText(append(b, `,"provider_id":`...), p.ProviderID); !ok {
			return b, false
		}
		b, ok = appendText(append(b, `,"name":`...), p.Name)
	}
	return append(b, '}'), ok
}

// plain are the bytes that stand for themselves.
var plain = func() (is [256]bool) {
	for c := byte(' '); c <= '~'; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// appendText appends s as a JSON string. It is false for what encoding/json may
// write in more than one way: other bytes than those of printable ASCII and of
// line breaks.
func appendText(b []byte, s string) (_ []byte, ok bool) {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if plain[c] {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			return b, false
		}
	}
	return append(append(b, s[start:]...), '"'), true
}
