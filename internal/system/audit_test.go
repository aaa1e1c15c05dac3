package system

import (
	"encoding/json"
	"testing"

	folded "github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Who has no access to the log gets to see by queries what stands in it: in a chat
// with a tool call, and in a fork of it.
func TestALogIsLookedIntoByQueries(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, scripted(t, slowly))
	c.turn("Look.")
	fork := s.again(t, "fork-"+c.key.Chat, scripted(t, plain))
	fork.do(protocol.Fork{V: protocol.Version, Chat: c.key.Chat})
	fork.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Model: fork.key.Chat}})
	fork.do(send("and now?"))
	fork.until("its turn has ended", func(h history) bool { return len(all[events.TurnCompleted](h)) > 0 })
	for _, c := range []*chat{c, fork} {
		h := c.read()
		blob := func(k events.Key, d events.Digest) ([]byte, error) { return s.bus.Blobs.Get(patient(t), k, d) }
		want, err := replay.Fold(h.commits, blob)
		if err != nil {
			t.Fatal(err)
		}
		var state transcript.State
		c.ask(transcript.QueryState, transcript.StateRequest{Chat: c.key.Chat}, &state)
		if got, err := folded.Decode(state.State); err != nil || got.Hash() != want.Hash() || state.Rev != want.Rev() {
			t.Errorf("chat %s: another state of rev %d, error %v", c.key.Chat, state.Rev, err)
		}
		for _, asked := range all[events.StepRequested](h) {
			var prompt transcript.Prompt
			c.ask(transcript.QueryPrompt, transcript.PromptRequest{Chat: c.key.Chat, Step: asked.Step, Full: true}, &prompt)
			if !prompt.Same || prompt.Recorded != asked.Prompt || !json.Valid(prompt.Request) {
				t.Errorf("chat %s, step %s: %+v", c.key.Chat, asked.Step, prompt)
			}
		}
		var verdict transcript.Verdict
		c.ask(transcript.QueryVerify, transcript.VerifyRequest{Chat: c.key.Chat}, &verdict)
		if len(verdict.Violations) > 0 || verdict.Unread != "" || verdict.Rev != uint64(len(h.commits)) {
			t.Errorf("chat %s: %+v", c.key.Chat, verdict)
		}
		var commits transcript.Commits
		c.ask(transcript.QueryCommits, transcript.CommitsRequest{Chat: c.key.Chat}, &commits)
		for i, e := range h.entries {
			if string(commits.Commits[i]) != string(e.Commit) {
				t.Errorf("chat %s, rev %d: another commit", c.key.Chat, i+1)
			}
		}
	}
}

// ask puts a query that must be answered.
func (c *chat) ask(name string, question, answer any) {
	c.Helper()
	if err := c.c.Query(patient(c.T), name, question, answer); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
}
