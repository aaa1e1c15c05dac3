package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// Unreadable says why a body cannot be read, to whoever wrote it: in the words of the
// body, and not in those of this program.
func Unreadable(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := wrong.Type.Kind().String()
	if _, text := wrong.Type.MethodByName("MarshalText"); text {
		want = "string"
	}
	said := "want " + wanted(want) + ", not " + given(wrong.Value)
	if wrong.Field != "" {
		said = wrong.Field + ": " + said
	}
	return said
}

// wanted is how a field of a kind of Go is written in JSON.
func wanted(kind string) string {
	switch {
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "a list"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number from 0 on"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "an object"
}

// given names what stands there instead, after the library's word for it.
func given(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return fmt.Sprintf("a %s", value)
}

// missing names what a body must say and does not, with what it should look like. A
// chat judges the rest.
func missing(b Body) string {
	const call, input = `call: missing; want the id of a call, such as "3.2.1"`, "input: missing; want the id of an input that waits"
	switch b := b.(type) {
	case Withdraw:
		return unless(b.Input != "", input)
	case Promote:
		return unless(b.Input != "", input)
	case EditInput:
		if b.Input == "" {
			return input
		}
		return unless(!silent(b.Parts), nothingSaid)
	case Send:
		return unless(!silent(b.Parts), nothingSaid)
	case Edit:
		return unless(!silent(b.Parts), nothingSaid)
	case SelectBranch:
		return unless(b.Turn != 0, "turn: missing; want the number of a turn")
	case Fork:
		return unless(b.Chat != "", "chat: missing; want the id of the chat to go on from")
	case Import:
		return unless(b.History != "", "history: missing; want the digest of an uploaded history")
	case Answer:
		return unless(b.Call != events.CallID{}, call)
	case Approve:
		return unless(b.Call != events.CallID{}, call)
	case ClientResult:
		return unless(b.Call != events.CallID{}, call)
	case Create, Interrupt, Configure, Rename, Archive, Unarchive, Retry, Continue, Regenerate,
		Compact, Clear, Restore, SetMode, Extend, Erase:
	}
	return ""
}

// nothingSaid is what is wrong with an input that is silent.
const nothingSaid = "parts: there is nothing but empty text; say something, or attach something"

// silent reports whether parts have text, and nothing in it.
func silent(parts []events.Part) bool {
	for _, p := range parts {
		if p.Type != events.PartText || p.Blob != "" || strings.TrimSpace(p.Text) != "" {
			return false
		}
	}
	return len(parts) > 0
}

func unless(said bool, words string) string {
	if said {
		return ""
	}
	return words
}
