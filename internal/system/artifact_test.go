package system

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// draftOf is the content of a draft, too large to stand in a commit.
func draftOf(turn string) string {
	return strings.Repeat("draft "+turn+" ", events.MaxInlineBytes/4)
}

// drafting is a model that has one draft kept in each turn, by that tool.
func drafting(tool string) model.Model {
	return asModel(func(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		if r.Messages[len(r.Messages)-1].Role != model.RoleUser {
			return answers(events.StopEnd, events.Text("there it is"))
		}
		turn := 0
		for _, m := range r.Messages {
			if m.Role == model.RoleUser {
				turn++
			}
		}
		arguments := fmt.Sprintf(`{"text":"%d"}`, turn)
		if tool == "create_artifact" {
			arguments = fmt.Sprintf(`{"title":"Draft","type":"text/markdown","content":%q}`, draftOf(strconv.Itoa(turn)))
		}
		return answers(events.StopCalls, events.Part{Type: events.PartCall, Ordinal: 1, Name: tool, ProviderID: "keep", Arguments: arguments})
	})
}

// artifacts are what a chat's transcript shows of them, in order.
func (c *chat) artifacts() []events.Artifact {
	var list []events.Artifact
	for _, m := range c.transcript().Messages {
		for _, p := range m.Parts {
			if p.Call != nil {
				list = append(list, p.Call.Artifacts...)
			}
		}
	}
	return list
}

// What a model makes for people to keep, or has a tool make, is theirs on any
// process, in what goes on from the chat, and until the chat is erased.
func TestS12_ArtifactsAreKept(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"create_artifact", "draft"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			artifactsAreKept(t, tool)
		})
	}
}

func artifactsAreKept(t *testing.T, tool string) {
	t.Helper()
	s := newSystem(t, options{})
	first := s.startOrchestrator(nil)
	s.startProjections()
	s.startRunner(nil)
	c := s.chat(t, drafting(tool))
	c.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Tools: &[]string{tool}}})
	c.turn("write")
	first.halt()
	s.startOrchestrator(nil)
	c.turn("and again")
	var want []events.Artifact
	for turn := 1; turn <= 2; turn++ {
		content := draftOf(strconv.Itoa(turn))
		want = append(want, events.Artifact{
			Title: "Draft", Version: turn, Type: "text/markdown", Digest: events.DigestOf([]byte(content)), Bytes: int64(len(content)),
		})
	}
	if got := c.artifacts(); !slices.Equal(got, want) {
		t.Fatalf("the transcript shows %+v, want %+v", got, want)
	}
	for i, a := range want {
		content, err := c.c.Download(patient(t), c.key.Chat, a.Digest)
		if err != nil || string(content) != draftOf(strconv.Itoa(i+1)) {
			t.Errorf("version %d: %d bytes, %v", a.Version, len(content), err)
		}
	}
	c.stillWorks()

	fork := s.again(t, "fork-"+c.key.Chat, drafting(tool))
	fork.do(protocol.Fork{V: protocol.Version, Chat: c.key.Chat, Rev: uint64(len(c.read().commits))})
	fork.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Model: fork.key.Chat}})
	c.do(protocol.Erase{V: protocol.Version})
	c.until("everything is deleted", isGone)
	if _, err := c.c.Download(patient(t), c.key.Chat, want[0].Digest); !isErased(err) {
		t.Errorf("an artifact of an erased chat: %v", err)
	}
	fork.do(send("go on"))
	fork.ended(1) // the first in its own log
	got := fork.artifacts()
	if len(got) != 3 || !slices.Equal(got[:2], want) || got[2].Version != 3 {
		t.Errorf("the fork has %+v", got)
	}
	if content, err := fork.c.Download(patient(t), fork.key.Chat, want[0].Digest); err != nil || string(content) != draftOf("1") {
		t.Errorf("the first version in the fork: %d bytes, %v", len(content), err)
	}
	fork.judge()
}

func isErased(err error) bool {
	no, ok := errors.AsType[*client.QueryError](err)
	return ok && no.Code == events.CodeErased
}
