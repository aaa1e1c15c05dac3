package fault

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// payload is what a provider's error says, whatever its shape.
type payload struct {
	words   []string // types and codes, lower case
	message string   // the first that was found
	all     string   // all messages, lower case
	status  int      // of HTTP, as the payload names it
}

// maxDepth bounds how far errors are wrapped in errors.
const maxDepth = 5

// parse reads an error. What is no JSON says nothing but its beginning, and a
// page of HTML not even that.
func parse(body []byte) payload {
	var p payload
	body = bytes.TrimSpace(body)
	if !p.read(body, 0) && len(body) > 0 && body[0] != '<' {
		p.say(string(body))
	}
	return p
}

// read takes in a JSON value that is, or holds, an error.
func (p *payload) read(raw []byte, depth int) bool {
	if depth > maxDepth || len(raw) == 0 {
		return false
	}
	switch raw[0] {
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return false
		}
		p.object(fields, depth)
		return true
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return false
		}
		for _, item := range list {
			p.read(item, depth+1)
		}
		return true
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return false
		}
		p.text(text, depth)
		return true
	}
	return false
}

// text is a message, or an error of somebody behind the provider, quoted.
func (p *payload) text(s string, depth int) {
	if inner := strings.TrimSpace(s); strings.HasPrefix(inner, "{") && p.read([]byte(inner), depth+1) {
		return
	}
	p.say(s)
}

func (p *payload) object(fields map[string]json.RawMessage, depth int) {
	for _, name := range []string{"type", "code", "status", "status_code", "reason", "error_type", "__type"} {
		p.word(fields[name])
	}
	for _, name := range []string{"error", "message", "detail", "msg", "param", "innererror", "metadata", "raw"} {
		p.read(bytes.TrimSpace(fields[name]), depth+1)
	}
}

// word notes a type or a code; one that is a number may be a status.
func (p *payload) word(raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	if n, err := strconv.Atoi(text); err == nil {
		if p.status == 0 && n >= 400 && n <= 599 {
			p.status = n
		}
		return
	}
	if text != "" && text != "null" {
		p.words = append(p.words, strings.ToLower(text))
	}
}

func (p *payload) say(s string) {
	if p.message == "" {
		p.message = s
	}
	p.all += strings.ToLower(s) + "\n"
}

func (p payload) names(known []string) bool {
	for _, word := range p.words {
		if slices.Contains(known, word) {
			return true
		}
	}
	return false
}

func (p payload) mentions(phrases []string) bool {
	for _, phrase := range phrases {
		if strings.Contains(p.all, phrase) {
			return true
		}
	}
	return false
}
