package openai

import (
	"context"
	"log/slog"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// troubled are chats that are not always there to be asked.
type troubled struct {
	Chats

	queries []error // of the questions to come; then all are answered
	command error
	asked   int
}

func (t *troubled) Query(_ context.Context, _, name string, _, answer any) error {
	t.asked++
	if len(t.queries) >= t.asked && t.queries[t.asked-1] != nil {
		return t.queries[t.asked-1]
	}
	if r, ok := answer.(*protocol.Reply); ok && name == transcript.QueryCommand {
		*r = protocol.Reply{ID: "known", OK: true}
	}
	return nil
}

func (t *troubled) Command(context.Context, events.Key, string, string, protocol.Body) (protocol.Reply, error) {
	return protocol.Reply{}, t.command
}

// noOf is a no with a code.
func noOf(code events.Code) error { return &protocol.RefusedError{Code: code} }

func TestALogThatCannotBeReadIsNotTakenForOneThatKnowsNothing(t *testing.T) {
	t.Parallel()
	never := noOf(events.CodeUnavailable)
	for _, tt := range []struct {
		name    string
		queries []error
		known   bool
		fails   bool
	}{
		{"it is known", nil, true, false},
		{"the chat is not there", []error{noOf(events.CodeUnknownChat)}, false, false},
		{"the chat was erased", []error{noOf(events.CodeErased)}, false, false},
		{"nobody has decided", []error{never, nil, never}, false, false},
		{"it could not be read for a moment", []error{never, nil}, true, false},
		{"it cannot be read", []error{never, never, never}, false, true},
		{"nobody answers", []error{gateway.ErrUnavailable}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := asking{Door: &Door{cfg: Config{Chats: &troubled{queries: tt.queries}}}, tenant: "acme"}
			_, known, err := a.outcome(t.Context(), "oslo", "id")
			if known != tt.known || (err != nil) != tt.fails {
				t.Errorf("known %t, error %v; want %t, and a failure: %t", known, err, tt.known, tt.fails)
			}
		})
	}
}

func TestAResultThatCouldNotBeSentIsNotPassedOver(t *testing.T) {
	t.Parallel()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	c := conversation{exchanges: []exchange{
		{answer: []message{{Role: roleTool, ToolCallID: callName("oslo", call), Content: content{{Type: "text", Text: "4"}}}}},
		{said: []message{{Role: roleUser}}},
	}}
	for _, tt := range []struct {
		name  string
		no    error
		fails bool
	}{
		{"it was taken", nil, false},
		{"nobody waits for it any more", noOf(events.CodeUnknownCall), false},
		{"nobody is there", gateway.ErrUnavailable, true},
		{"it is stored and not decided", gateway.ErrUndecided, true},
		{"a quota is used up", problem.New(problem.CodeTooMany, ""), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := asking{Door: &Door{cfg: Config{Chats: &troubled{command: tt.no}, Log: slog.New(slog.DiscardHandler)}}, tenant: "acme"}
			if err := a.reportBefore(t.Context(), "oslo", c); (err != nil) != tt.fails {
				t.Errorf("error %v, want a failure: %t", err, tt.fails)
			}
		})
	}
}
