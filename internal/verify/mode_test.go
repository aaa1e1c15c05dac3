package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// modeStory is a chat in which mode ask is set while a turn of mode full runs, and
// another turn goes on with what that one began.
func modeStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Command(protocol.Send{
		V: protocol.Version, Parts: []events.Part{events.Text("one")}, Settings: &events.Settings{Approval: events.ApprovalFull},
	})
	c.Answer(chatgen.Call(chatgen.ToolAppend, ""))
	c.SetMode(events.ApprovalAsk)
	c.Interrupt()
	c.Fire()
	c.Command(protocol.Continue{V: protocol.Version})
	c.Answer(events.Text("done"))
	return over(t, c)
}

// Each of these would be a violation of the rule anyway: what is reported must be this.
func TestModesAndCallsOfTheClientAreJudged(t *testing.T) {
	t.Parallel()

	modeSet := events.ModeSet{Approval: events.ApprovalAsk}
	for _, tt := range []struct {
		name   string
		story  func(*testing.T) *chatgen.Chat
		mutate func(log) log
		rule   verify.Rule
		says   string
	}{
		{"a later turn is not in the mode that was set", modeStory, func(l log) log {
			before := l.at(nth[events.TurnStarted](l, 1)).(events.TurnStarted).Settings
			return change(l, 2, func(e *events.TurnStarted) { e.Settings = before })
		}, verify.RuleApprovals, `turn 2 starts in mode "full"`},
		{"a question about a call that the client has", actionStory, func(l log) log {
			call := l.at(nth[events.ActionRequested](l, 1)).(events.ActionRequested).Calls[0]
			l = l.insert(nth[events.ActionRequested](l, 1), events.ApprovalRequested{Call: call, Tool: chatgen.ToolClient})
			return l.insert(nth[events.ActionRequested](l, 1), modeSet)
		}, verify.RuleApprovals, "is asked about after the client was asked for it"},
		{"a call that needs a person is given to the client", actionStory, func(l log) log {
			return l.insert(nth[events.ToolCompleted](l, 1), modeSet)
		}, verify.RuleLicence, "is given to the client, and nobody approved it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.story(t)
			o := verify.Options{Idle: true, Schema: schema, Blob: blobs(c)}
			if found := check(logOf(c).chain(t), o); len(found) > 0 {
				t.Fatalf("the story itself: %v", found)
			}
			found := check(tt.mutate(logOf(c)).chain(t), o)
			if !slices.ContainsFunc(found, func(v verify.Violation) bool { return v.Rule == tt.rule && strings.Contains(v.Detail, tt.says) }) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}
