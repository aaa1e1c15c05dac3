package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
)

// longChat is a chat of many turns with a model that takes little. Its provider
// counts what it is shown by its bytes.
type longChat struct {
	*chatgen.Chat
	t           *testing.T
	compactions int
}

const longWindow = 100_000

func beginLong(t *testing.T) *longChat {
	t.Helper()
	c := chatgen.New(events.Key{Tenant: "acme", Chat: "long"})
	c.Live.Defaults.System = "MARK OF THE SYSTEM"
	c.Live.Windows = map[string]chat.Window{"small": {Tokens: longWindow}}
	c.Create(events.Settings{})
	return &longChat{Chat: c, t: t}
}

// turn is a question and an answer, every tenth with a call between them.
func (c *longChat) turn(n int) {
	c.t.Helper()
	c.Send(fmt.Sprintf("question %d %s", n, strings.Repeat("q ", 50)))
	if n%10 == 0 {
		c.answer(chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid))
		call := events.CallID{Turn: n, Step: c.steps(), Ordinal: 1}
		c.Claim(call, 1)
		c.Result(call, events.ToolOK, strings.Repeat("seen ", 20))
	}
	c.answer(events.Text(fmt.Sprintf("answer %d %s", n, strings.Repeat("a ", 50))))
	if _, open := c.State.Running(); open {
		c.t.Fatalf("turn %d is still open", n)
	}
}

func (c *longChat) steps() int {
	asked, _ := lastOf[events.StepCompleted](c.Commits)
	return asked.Step.Step
}

// answer answers what is asked, and before that writes the summary if one is.
func (c *longChat) answer(part events.Part) {
	c.t.Helper()
	asked, _ := lastOf[events.StepRequested](c.Commits)
	tokens := asked.Bytes / 4
	if tokens > longWindow {
		c.t.Fatalf("step %s shows %d tokens, the window has %d", asked.Step, tokens, longWindow)
	}
	stop := events.StopEnd
	if part.Type == events.PartCall {
		stop = events.StopCalls
	}
	if asked.Purpose == events.PurposeSummary {
		c.whole(chat.PromptFor(c.State, asked.Step))
		c.compactions++
		c.AnswerWith(model.Answer{Parts: []events.Part{events.Text("notes " + strings.Repeat("n ", 500))}, Stop: events.StopEnd})
		c.whole(chat.Prompt(c.State))
		c.answer(part)
		return
	}
	c.AnswerWith(model.Answer{Parts: []events.Part{part}, Stop: stop, Usage: events.Usage{Input: tokens, Output: 30}})
}

func (c *longChat) whole(r model.Request) {
	c.t.Helper()
	if wrong := verify.Promptable(r); wrong != "" {
		c.t.Error(wrong)
	}
	if r.System != "MARK OF THE SYSTEM" || len(r.Tools) == 0 {
		c.t.Errorf("instructions are %q, and there are %d tools", r.System, len(r.Tools))
	}
}

func lastOf[E events.Event](commits []events.Commit) (E, bool) {
	for _, commit := range slices.Backward(commits) {
		for _, e := range slices.Backward(commit.Events) {
			if found, ok := e.(E); ok {
				return found, true
			}
		}
	}
	var none E
	return none, false
}

// Compacted again and again, a chat of 5,000 messages is shown whole, with its
// instructions and within the window.
func TestS10_4_AChatOfFiveThousandMessages(t *testing.T) {
	t.Parallel()
	c := beginLong(t)
	for n := 1; n <= 2_500; n++ {
		c.turn(n)
	}
	if c.compactions < 2 {
		t.Errorf("compacted %d times", c.compactions)
	}
}
