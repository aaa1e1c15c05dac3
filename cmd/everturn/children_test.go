package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// shares is a model that has another chat ask, and says what that came to.
const shares = `
rules:
  - when: {input: share, step: 1}
    answer: [{call: {name: delegate, arguments: '{"task":"choose"}'}}]
`

// What waits in a chat that works for another one is shown there, and what is typed
// in answer goes on in both.
//
// Rule: S11.
func TestWhatWaitsInAChildIsShownToWhoWatchesItsParent(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "shares.yaml")
	if err := os.WriteFile(script, []byte(shares+strings.TrimPrefix(asks, "\nrules:\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script)
	b.must("send", "--chat", "c1", "--tools", "delegate,ask_user", "share")
	tail := b.watch("tail", "c1")
	tail.out.await(t.Context(), "there waits for an answer: everturn answer ")
	asJSON := b.watch("tail", "c1", "--json")
	asJSON.out.await(t.Context(), `{"awaits":[{"chat":`)
	child := regexp.MustCompile(`in chat (\S+), call 1\.1\.1 there`).FindStringSubmatch(tail.out.String())
	if child == nil {
		t.Fatalf("tail shows no child: %s", tail.out)
	}
	says(t, "tail", tail.out.String(), "? Color: Which color?  [color]", "everturn answer "+child[1]+" 1.1.1 color=... size=...")
	says(t, "the transcript", b.must("transcript", "c1").out, "[1.1.1 child]", "chat "+child[1]+" works for it until",
		".. chat "+child[1]+" works for call 1.1.1: running", "call 1.1.1 there waits for an answer: everturn answer "+child[1])
	says(t, "the child's transcript", b.must("transcript", child[1]).out, "works for call 1.1.1 of chat c1", "choose")
	b.must("answer", child[1], "1.1.1", "color=blue", "size=large")
	b.must("tail", "c1", "--until-idle")
	tail.out.await(t.Context(), "chat "+child[1]+" worked for call 1.1.1: completed")
	says(t, "the transcript", b.must("transcript", "c1").out, "worked for it: completed (2 steps, 1 call)", "the tool said: the tool said: ")
	why := b.must("why", child[1], "1.3")
	says(t, "why", why.out, "brought by chat c1/1.1.1", "which goes on in that chat: everturn why c1 1.1.1")
	says(t, "why", b.must("why", "c1", "1.1.1").out, "child.ended.v1", "brought by chat "+child[1], "child.spawned.v1")
	b.must("verify")
	b.must("replay", "c1")
	b.must("replay", child[1])
}

func TestALiveViewShowsWhoWorksForAChat(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	view := &liveView{out: &out, chat: "c1"}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	view.see(client.Sight{Commit: &events.Commit{Events: []events.Event{
		events.ChatSpawned{Parent: events.Parent{Chat: "c0", Call: call}},
		events.ChildSpawned{Call: call, Child: "c2"},
		events.ChildEnded{Call: call, Child: "c2", Outcome: events.ChildFailed},
	}}})
	view.awaits([]transcript.Awaited{{Chat: "c2", Call: call, Tool: "pay", Arguments: `{"sum": 900}`, Status: transcript.CallApproval}})
	const want = "[works for call 1.1.1 of chat c0]\n" +
		"… chat c2 works for call 1.1.1: everturn tail c2\n" +
		"… chat c2 worked for call 1.1.1: failed\n" +
		"… in chat c2, call 1.1.1 there waits for approval: everturn approve c2 1.1.1  (pay {\"sum\": 900})\n"
	if out.String() != want {
		t.Errorf("shows\n%s\nwant\n%s", &out, want)
	}
}
