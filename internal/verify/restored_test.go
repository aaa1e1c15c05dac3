package verify_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// A chat that comes from a backup is closed whole, for that reason, and by nobody else.
func TestARestoredChatIsClosedWhole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		rule   verify.Rule
		damage func(*events.Commit)
	}{
		{"as it is", "", func(*events.Commit) {}},
		{"its turn stays open", verify.RuleTurns, func(c *events.Commit) { c.Events = []events.Event{c.Events[0], c.Events[2]} }},
		{"a call stays open", verify.RuleResults, func(c *events.Commit) { c.Events = c.Events[1:] }},
		{"what waits stays", verify.RuleInputs, func(c *events.Commit) { c.Events = c.Events[:len(c.Events)-1] }},
		{"for another reason", verify.RuleInterrupts, func(c *events.Commit) {
			c.Events[1] = events.TurnInterrupted{Turn: 1, Reason: events.ReasonImported, Totals: c.Events[1].(events.TurnInterrupted).Totals}
		}},
		{"by somebody else", verify.RuleCommands, func(c *events.Commit) {
			c.Cause = events.Cause{Kind: events.CausedByCommand, ID: ulid(9), Verb: "send", Sequence: 99}
		}},
		{"something else begins with it", verify.RuleInterrupts, func(c *events.Commit) {
			c.Events = append([]events.Event{events.ChatTitled{Title: "mine"}}, c.Events...)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := chatgen.New(ann)
			c.Create(events.Settings{})
			c.Send("go")
			c.Answer(chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid))
			c.Send("behind")
			c.Handle(chat.Restored{})
			l := logOf(c)
			tt.damage(&l[len(l)-1])
			found := rulesOf(check(l.chain(t), verify.Options{Schema: schema, Blob: blobs(c)}))
			if tt.rule == "" && len(found) > 0 || tt.rule != "" && !slices.Contains(found, tt.rule) {
				t.Errorf("found %v, want %q", found, tt.rule)
			}
		})
	}
}
