package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/roles"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// office is an installation whose dead letters a test writes by hand.
type office struct {
	*laptop
	bus *streams.Bus
	nc  *nats.Conn
}

func newOffice(t *testing.T) office {
	t.Helper()
	b := dev(t)
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	bus, err := streams.Open(t.Context(), nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return office{laptop: b, bus: bus, nc: nc}
}

// aside sets a command aside as an orchestrator does: a copy, and the no on
// record if the chat has a log. It gives the command's id.
func (o office) aside(chat string, body string) string {
	o.Helper()
	id, key := client.NewID(), events.Key{Tenant: defaultTenant, Chat: chat}
	o.letter(key, id, body)
	last, err := o.bus.Log.Last(o.Context(), key)
	if errors.Is(err, protocol.ErrNotFound) {
		return id
	}
	if err != nil {
		o.Fatal(err)
	}
	before, err := events.Decode(last.Body)
	if err != nil {
		o.Fatal(err)
	}
	commit, err := events.Encode(events.Commit{
		ID: client.NewID(), Key: key, Rev: before.Rev + 1, Prev: events.Hash(last.Body), At: events.At(time.Now()),
		Cause:  events.Cause{Kind: events.CausedByCommand, ID: id, Verb: "send", Sequence: o.newest()},
		Events: []events.Event{events.CommandRejected{Verb: "send", Code: events.CodeUndeliverable, Message: "set aside"}},
	})
	if err != nil {
		o.Fatal(err)
	}
	if _, err := o.bus.Log.Append(o.Context(), protocol.Append{Key: key, Fence: last.Sequence, Body: commit}); err != nil {
		o.Fatal(err)
	}
	return id
}

// newest is the sequence of the newest command, whether it is still stored or not.
func (o office) newest() uint64 {
	o.Helper()
	js, err := jetstream.New(o.nc)
	if err != nil {
		o.Fatal(err)
	}
	commands, err := js.Stream(o.Context(), streams.CommandsStream)
	if err != nil {
		o.Fatal(err)
	}
	return commands.CachedInfo().State.LastSeq
}

func (o office) letter(key events.Key, id, body string) {
	o.Helper()
	m := protocol.Stored{
		Subject: protocol.CommandSubject(key, "send"), Sequence: o.newest(), Body: []byte(body),
		Header: map[string][]string{protocol.HeaderID: {id}, protocol.HeaderBy: {"user:ann"}},
	}
	if err := o.bus.Dead.Put(o.Context(), key, m, id, "deciding it failed 3 times"); err != nil {
		o.Fatal(err)
	}
}

func said(text string) string {
	return fmt.Sprintf(`{"v":1,"parts":[{"type":"text","text":%q}]}`, text)
}

// chat makes one in which something was said.
func (o office) chat(name string) {
	o.Helper()
	o.command("", "send", "--chat", name, "hello")
	o.command("", "tail", name, "--until-idle")
}

func TestDeadLettersAreListedAndShown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if r := o.command("", "dead", "list"); r.code != 0 || r.out != "" || !strings.Contains(r.err, "nothing was set aside") {
		t.Errorf("of none: code %d, %q, %q", r.code, r.out, r.err)
	}
	o.chat("c1")
	first := o.aside("c1", said("once more\u009b2J"))
	second := o.aside("c2", said("of a chat that is not there"))
	r := o.command("", "dead", "list")
	says(t, "the list", r.out, "default.c1", first, "default.c2", second, "send", "deciding it failed 3 times")
	if of := objects(t, "of one chat", o.command("", "dead", "list", "c1", "--json").out); len(of) != 1 ||
		of[0]["command"] != first || of[0]["chat"] != "c1" || of[0]["times"] != 1.0 || of[0]["by"] != "user:ann" || of[0]["at"] == "" {
		t.Errorf("of one chat: %v", of)
	}
	shown := o.command("", "dead", "show", first)
	if shown.code != 0 || strings.ContainsRune(shown.out, '\u009b') {
		t.Errorf("code %d, shown %q", shown.code, shown.out)
	}
	says(t, "what is shown", shown.out, "once more")
	says(t, "what is said about it", shown.err, "user:ann", "everturn.cmd.default.c1.send", "failed 3 times")
	whole := objects(t, "show --json", o.command("", "dead", "show", second, "--json").out)
	if body, ok := whole[0]["body"].(map[string]any); !ok || body["v"] != 1.0 {
		t.Errorf("shown as JSON: %v", whole)
	}
}

func TestARedrivenCommandTakesEffectOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.chat("c1")
	o.chat("c2") // its commands have higher sequences
	id := o.aside("c1", said("once more"))
	r := o.command("", "dead", "redrive", id)
	if r.code != 0 || r.out != "c1\n" {
		t.Fatalf("code %d, %q: %v", r.code, r.out, r.failure)
	}
	says(t, "what is said", r.err, id, redrivenID(id))
	o.command("", "tail", "c1", "--until-idle")
	says(t, "the transcript", o.command("", "transcript", "c1").out, "you said: once more")
	says(t, "the log", o.command("", "log", "c1", "--json").out, redrivenID(id), `"by":"user:ann"`)
	if again := o.command("", "dead", "redrive", id); again.code != 3 {
		t.Errorf("once more: code %d, %v", again.code, again.failure)
	}
	// Somebody was killed after the command was stored and before its letter was dropped.
	commits := o.command("", "log", "c1", "--json").out
	o.letter(events.Key{Tenant: defaultTenant, Chat: "c1"}, id, said("once more"))
	again := objects(t, "redrive --json", o.command("", "dead", "redrive", id, "--json").out)
	if len(again) != 1 || again[0]["ok"] != true || again[0]["id"] != redrivenID(id) || again[0]["letter"] != id {
		t.Errorf("after a kill: %v", again)
	}
	if now := o.command("", "log", "c1", "--json").out; now != commits {
		t.Errorf("it took effect twice:\n%s", now)
	}
	if left := o.command("", "dead", "list"); left.out != "" {
		t.Errorf("left:\n%s", left.out)
	}
	if r := o.command("", "verify"); r.code != 0 {
		t.Errorf("verify: %v\n%s", r.failure, r.out)
	}
}

func TestACommandThatWasDecidedSinceIsAnsweredWithItsRecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.chat("c1")
	sent := objects(t, "send --json", o.command("", "send", "--chat", "c1", "decided", "--json").out)[0]
	id, ok := sent["id"].(string)
	if !ok {
		t.Fatalf("sent: %v", sent)
	}
	o.command("", "tail", "c1", "--until-idle")
	commits := o.command("", "log", "c1", "--json").out
	o.letter(events.Key{Tenant: defaultTenant, Chat: "c1"}, id, said("decided"))
	got := objects(t, "redrive --json", o.command("", "dead", "redrive", id, "--json").out)
	if len(got) != 1 || got[0]["id"] != id || got[0]["rev"] != sent["rev"] {
		t.Errorf("got %v, want the record %v", got, sent)
	}
	if now := o.command("", "log", "c1", "--json").out; now != commits {
		t.Errorf("the log has changed:\n%s", now)
	}
	if left := o.command("", "dead", "list"); left.out != "" {
		t.Errorf("left:\n%s", left.out)
	}
}

func TestALetterIsKeptUntilTheOutcomeIsOnRecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.chat("c1")
	nobody := o.aside("nobody", said("hello"))
	if r := o.command("", "dead", "redrive", nobody); r.code != 3 || !strings.Contains(r.failure.Error(), "the letter is kept") {
		t.Errorf("no such chat: code %d, %v", r.code, r.failure)
	}
	unread := o.aside("c1", `{"v":2}`)
	if r := o.command("", "dead", "redrive", unread); r.code != 1 || !strings.Contains(r.failure.Error(), "cannot read it") {
		t.Errorf("a body of another release: code %d, %v", r.code, r.failure)
	}
	if all := objects(t, "list", o.command("", "dead", "list", "--json").out); len(all) != 2 {
		t.Errorf("listed %v, want both", all)
	}
	o.chat("nobody") // now it is there
	if r := o.command("", "dead", "redrive", nobody); r.code != 0 {
		t.Errorf("when the chat is there: code %d, %v", r.code, r.failure)
	}
	says(t, "the log", o.command("", "log", "nobody", "--json").out, nobody)
}

func TestADroppedLetterIsGone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.aside("c1", said("hello"))
	if r := o.command("", "dead", "drop", id, "--chat", "c2"); r.code != 3 {
		t.Errorf("of another chat: code %d, %v", r.code, r.failure)
	}
	o.letter(events.Key{Tenant: defaultTenant, Chat: "c2"}, id, said("hello"))
	if r := o.command("", "dead", "drop", id); r.code != 2 || !strings.Contains(r.failure.Error(), "--chat") {
		t.Errorf("of two chats: code %d, %v", r.code, r.failure)
	}
	if r := o.command("", "dead", "drop", id, "--chat", "c1", "--json"); r.code != 0 || objects(t, "drop", r.out)[0]["chat"] != "c1" {
		t.Errorf("code %d, %v, %q", r.code, r.failure, r.out)
	}
	if r := o.command("", "dead", "show", id, "--chat", "c1"); r.code != 3 {
		t.Errorf("shown after all: code %d, %v", r.code, r.failure)
	}
	if r := o.command("", "dead", "show", id); r.code != 0 {
		t.Errorf("the other chat's: code %d, %v", r.code, r.failure)
	}
	for _, args := range [][]string{{"show"}, {"show", "x"}, {"drop", "01arz3ndektsv4rrffq69g5fav"}, {"list", "a.b"}, {"redrive"}} {
		if r := o.command("", append([]string{"dead"}, args...)...); r.code != 2 {
			t.Errorf("dead %v: code %d, want 2: %v", args, r.code, r.failure)
		}
	}
}

// What was set aside is content, and settling it is a change.
func TestOnlyAnOperatorReachesDeadLetters(t *testing.T) {
	t.Parallel()
	configuration, err := roles.Generate(roles.Config{Tenants: []string{"default"}, Groups: []string{"builtin"}})
	if err != nil {
		t.Fatal(err)
	}
	server := embeddedtest.Start(t, embedded.Options{Configure: configuration.Configure})
	as := func(name string, args ...string) ran {
		u, ok := configuration.User(name)
		if !ok {
			t.Fatalf("no user %s", name)
		}
		args = append(args, "--server", server.URL(), "--user", u.Name, "--password", u.Password)
		return command(t, strings.NewReader(""), nil, args...)
	}
	if r := as("operator", "streams", "apply"); r.code != 0 {
		t.Fatal(r.failure)
	}
	if r := as("operator", "dead", "list"); r.code != 0 {
		t.Errorf("the operator: code %d, %v", r.code, r.failure)
	}
	for _, name := range []string{"client-default", "runner-builtin", "projection", "gateway"} {
		if r := as(name, "dead", "list"); r.code != cli.ExitUnauthorized {
			t.Errorf("%s: code %d, %v", name, r.code, r.failure)
		}
	}
}
