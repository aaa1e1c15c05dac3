package verify_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// What tools have done while their calls are still open, or were closed without
// them.
func TestTheLedgerOfCallsThatNobodyReported(t *testing.T) {
	t.Parallel()

	open := func(claims ...uint64) func(*testing.T) *chatgen.Chat {
		return func(*testing.T) *chatgen.Chat {
			c := begun()
			c.Answer(chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolAppend, ""))
			for _, delivery := range claims {
				c.Claim(call(1), delivery)
			}
			return c
		}
	}
	once := []verify.Rule{verify.RuleOnce}
	for _, tt := range []struct {
		name  string
		story func(*testing.T) *chatgen.Chat
		call  events.CallID
		key   string // of another call, if set
		times int
		want  []verify.Rule
	}{
		{"a call that runs", open(1), call(1), "", 1, nil},
		{"a call that runs, twice", open(1), call(1), "", 2, once},
		{"a call that runs, under another key", open(1), call(1), "k", 1, once},
		{"a call without a licence", open(), call(1), "", 1, once},
		{"a call that was not handed out", open(1), call(2), "", 1, once},
		{"a call that was cancelled", interruptStory, call(1), "", 1, once},
		{"a call that was denied", aloneStory, call(1), "", 1, once},
		{"a call that may run again, twice", againStory, call(1), "", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := verify.Effect{Key: ann, Call: tt.call, IdempotencyKey: protocol.IdempotencyKey(ann, tt.call)}
			if tt.key != "" {
				e.IdempotencyKey = tt.key
			}
			found := check(entries(tt.story(t), 1), verify.Options{Effects: slices.Repeat([]verify.Effect{e}, tt.times)})
			if rules := slices.Compact(rulesOf(found)); !slices.Equal(rules, tt.want) {
				t.Errorf("found %v, want rules %v", found, tt.want)
			}
		})
	}
}
