package protocol_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// A body that cannot be read is answered in its own words. No name of a type of this
// program says anything to whoever wrote it.
func TestWhatIsSaidOfBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verb, body, want string
	}{
		{"send", `[]`, "body: want an object, not a list"},
		{"send", `{"v":"1"}`, "body: v: want a whole number, not a string"},
		{"send", `{"v":1,"parts":"hi"}`, "body: parts: want a list, not a string"},
		{"send", `{"v":1,"parts":["hi"]}`, "body: parts: want an object, not a string"},
		{"send", `{"v":1,"parts":[{"type":7}]}`, "body: parts.type: want a string, not a number"},
		{"send", `{"v":1,"parts":[{"type":"text","bytes":1.5}]}`, "body: parts.bytes: want a whole number, not 1.5"},
		{"send", `{"v":1,"settings":{"limits":{"steps":{}}}}`, "body: settings.limits.steps: want a whole number, not an object"},
		{"send", `{"v":1,"colour":"red"}`, `body: unknown field "colour"`},
		{"send", `{"v":1,`, "body: unexpected end of JSON input"},
		{"answer", `{"v":1,"call":7}`, "body: call: want a string, not a number"},
		{"answer", `{"v":1,"call":"1.1.1","hold":"yes"}`, "body: hold: want true or false, not a string"},
		{"answer", `{"v":1,"call":"1.1.1","hold":false,"answers":true}`, "body: answers: want a list, not true or false"},
		{"erase", `{"v":1,"rev":-1}`, "body: rev: want a whole number from 0 on, not -1"},
	} {
		said(t, tt.verb, tt.body, tt.want)
	}
}

func TestWhatABodyMustSay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verb, body, want string
	}{
		{"withdraw", `{"v":1}`, "body: input: missing"},
		{"promote", `{"v":1,"input":""}`, "body: input: missing"},
		{"edit-input", `{"v":1,"parts":[]}`, "body: input: missing"},
		{"send", `{"v":1,"parts":[{"type":"text","text":""}]}`, "body: parts: there is nothing"},
		{"send", `{"v":1,"parts":[{"type":"text"},{"type":"text","text":" \t\n\u00a0"}]}`, "body: parts: there is nothing"},
		{"edit", `{"v":1,"parts":[{"type":"text","text":"  "}]}`, "body: parts: there is nothing"},
		{"edit-input", `{"v":1,"input":"a","parts":[{"type":"text","text":"\n"}]}`, "body: parts: there is nothing"},
		{"select-branch", `{"v":1}`, "body: turn: missing"},
		{"fork", `{"v":1}`, "body: chat: missing"},
		{"import", `{"v":1}`, "body: history: missing"},
		{"answer", `{"v":1,"hold":true}`, "body: call: missing"},
		{"approve", `{"v":1,"decision":"approve"}`, "body: call: missing"},
		{"client-result", `{"v":1,"call":null}`, "body: call: missing"},
		{"erase", `{"v":1,"rev":null}`, "body: rev: want a whole number, or leave it out"},
		{"erase", `{"v":1,"Rev":null}`, "body: rev: want a whole number, or leave it out"},
	} {
		said(t, tt.verb, tt.body, tt.want)
	}
}

func said(t *testing.T, verb, body, want string) {
	t.Helper()
	_, err := protocol.DecodeCommand(verb, []byte(body))
	if err == nil {
		t.Errorf("%s %s is taken", verb, body)
		return
	}
	text, ok := strings.CutPrefix(err.Error(), string(events.CodeBadCommand)+": ")
	if !ok || !strings.HasPrefix(text, want) {
		t.Errorf("%s %s: %s; want %s", verb, body, err, want)
	}
}

// A rev of 0 is a condition, and one that no chat meets.
func TestARevOfNothingIsARev(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{`{"v":1}`: false, `{"v":1,"rev":0}`: true, `{"v":1,"rev":7}`: true} {
		b, err := protocol.DecodeCommand("erase", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := b.(protocol.Erase).Rev != nil; got != want {
			t.Errorf("%s names a rev: %t, want %t", body, got, want)
		}
	}
}
