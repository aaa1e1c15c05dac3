package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// answers is what the model of these tests says.
const answers = `
rules:
  - when: {input: wait}
    answer: [{text: "one moment "}, {pause: 10m}, {text: never}]
  - when: {input: fail}
    answer: [{fail: {class: invalid_request, message: as asked}}]
  - answer: [{text: "you said: {{input}}"}]
`

// installation is a server with an orchestrator and a projection.
type installation struct {
	*testing.T
	server *embedded.Server
	nc     *nats.Conn
	client *client.Client
}

func install(t *testing.T) *installation {
	t.Helper()
	s := embeddedtest.Start(t, embedded.Options{})
	i := &installation{T: t, server: s}
	i.nc = i.connect()
	i.client = client.New(i.nc, "", "user:ann")
	scripted, err := script.Parse("answers", []byte(answers))
	if err != nil {
		t.Fatal(err)
	}
	find := func(string) (model.Model, bool) { return scripted, true }
	ready := make(chan struct{})
	i.start(func(ctx context.Context, nc *nats.Conn) error {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, find, func() { close(ready) })
	})
	<-ready
	i.start(func(ctx context.Context, nc *nats.Conn) error {
		return parts.RunProjections(ctx, nc, "0.0.0", slog.New(slog.DiscardHandler))
	})
	return i
}

func (i *installation) connect(opts ...nats.Option) *nats.Conn {
	i.Helper()
	nc, err := i.server.Connect("client test", opts...)
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(nc.Close)
	return nc
}

func (i *installation) start(part func(context.Context, *nats.Conn) error) {
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	nc := i.connect()
	var running sync.WaitGroup
	running.Go(func() {
		if err := part(ctx, nc); err != nil {
			i.Error(err)
		}
	})
	i.Cleanup(func() { cancel(); running.Wait() })
}

// create makes a chat; who cannot be reached yet is asked until they can.
func (i *installation) create() string {
	i.Helper()
	chat, err := i.client.Create(i.Context(), "", protocol.Create{Title: "a test"})
	if err != nil {
		i.Fatal(err)
	}
	for {
		_, err := i.client.Head(i.Context(), chat)
		if err == nil {
			return chat
		}
		if !errors.Is(err, client.ErrNoService) {
			i.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func code(err error) events.Code {
	rejected, _ := errors.AsType[*client.RejectedError](err)
	if rejected == nil {
		return ""
	}
	return rejected.Code
}

func TestAChatFromItsCreationToItsTranscript(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()

	var shown strings.Builder
	turn, err := i.client.Say(t.Context(), chat, "hello", func(s client.Sight) {
		if s.Delta != nil {
			shown.WriteString(s.Delta.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if turn.Turn != 1 || turn.Status != transcript.TurnCompleted || turn.Finish != events.FinishComplete || turn.Totals.Steps != 1 {
		t.Errorf("turn %+v", turn)
	}
	if want := "you said: hello"; shown.String() != want {
		t.Errorf("shown %q, want %q", shown.String(), want)
	}
	page, err := i.client.Transcript(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	if page.Title != "a test" || page.Status != transcript.StatusIdle || len(page.Messages) != 2 || len(page.Turns) != 1 {
		t.Fatalf("transcript %+v", page)
	}
	if said, answered := page.Messages[0], page.Messages[1]; said.By != "user:ann" || answered.Parts[0].Text != "you said: hello" {
		t.Errorf("messages %+v", page.Messages)
	}
	if _, err := i.client.Create(t.Context(), chat, protocol.Create{}); code(err) != events.CodeExists {
		t.Errorf("a second create gives %v", err)
	}
	if again, err := i.client.Ensure(t.Context(), chat); err != nil || again != chat {
		t.Errorf("ensure gives %q and %v", again, err)
	}
}

func TestATurnThatFailsIsNoError(t *testing.T) {
	t.Parallel()
	i := install(t)
	turn, err := i.client.Say(t.Context(), i.create(), "fail", nil)
	if err != nil || turn.Status != transcript.TurnFailed || turn.Class != events.ClassInvalidRequest || !strings.Contains(turn.Message, "as asked") {
		t.Errorf("turn %+v, error %v", turn, err)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()
	turn, err := i.client.Say(t.Context(), chat, "wait", func(s client.Sight) {
		if s.Delta == nil {
			return
		}
		if _, err := i.client.Interrupt(t.Context(), chat, s.Delta.Turn, "seen enough"); err != nil && code(err) != events.CodeAlreadyFinished {
			t.Error(err)
		}
	})
	if err != nil || turn.Status != transcript.TurnInterrupted || turn.Reason != "seen enough" {
		t.Errorf("turn %+v, error %v", turn, err)
	}
	if _, err := i.client.Interrupt(t.Context(), chat, 1, ""); code(err) != events.CodeAlreadyFinished {
		t.Errorf("interrupting a turn that has ended gives %v", err)
	}
}

func TestWhoWaitsForItsTurnGetsThatTurn(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()
	first, err := i.client.Send(t.Context(), chat, "wait")
	if err != nil || first.Turn != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	w, err := i.client.OpenWatcher(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !w.Running() {
		t.Error("the watcher does not know of the turn that runs")
	}
	second, err := i.client.Send(t.Context(), chat, "and then?")
	if err != nil || second.Turn != 0 || second.Input == "" {
		t.Fatalf("%+v, %v", second, err)
	}
	if _, err := i.client.Interrupt(t.Context(), chat, 1, ""); err != nil {
		t.Fatal(err)
	}
	turn, err := w.Until(t.Context(), second, nil)
	if err != nil || turn.Turn != 2 || turn.Status != transcript.TurnCompleted {
		t.Errorf("turn %+v, error %v", turn, err)
	}
}

func TestWhoWaitsForItsTurnIsToldWhenItWillNotCome(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"heard": false, "missed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := install(t)
			chat := i.create()
			if _, err := i.client.Send(t.Context(), chat, "wait"); err != nil {
				t.Fatal(err)
			}
			w, err := client.New(i.connect(), "", "").OpenWatcher(t.Context(), chat)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			second, err := i.client.Send(t.Context(), chat, "and then?")
			if err != nil {
				t.Fatal(err)
			}
			if deaf {
				if err := w.Mute(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := i.client.Command(t.Context(), chat, protocol.Withdraw{V: 1, Input: second.Input}); err != nil {
				t.Fatal(err)
			}
			if _, err := i.client.Interrupt(t.Context(), chat, 1, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Until(t.Context(), second, nil); !errors.Is(err, client.ErrWithdrawn) {
				t.Errorf("got %v, want that it was withdrawn", err)
			}
		})
	}
}

// A turn that is due beside another one does not begin if somebody chooses another
// branch first; whoever waits for it is told so.
func TestUntilATurnThatDoesNotBegin(t *testing.T) {
	t.Parallel()
	t.Run("and whoever waits sees why", func(t *testing.T) {
		t.Parallel()
		s := embeddedtest.Start(t, embedded.Options{})
		i := &installation{T: t, server: s}
		nc := i.connect()
		c := client.New(nc, "", "user:ann")
		key := c.Key("c1")
		w, err := c.OpenWatcher(t.Context(), key.Chat)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for n, chosen := range []events.BranchSelected{{Again: 1}, {Again: 1, By: "user:bob"}, {Turn: 1}} {
			commit := events.Commit{ID: fmt.Sprint(n), Key: key, Rev: uint64(5 + n), Cause: events.Cause{Kind: events.CausedByCommand, ID: fmt.Sprint(n), Sequence: uint64(5 + n), Verb: string(protocol.VerbSelectBranch)}, Events: []events.Event{chosen}}
			b, err := events.Encode(commit)
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.Publish(protocol.FeedCommitSubject(key), b); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		_, err = w.Until(t.Context(), protocol.Reply{OK: true, Rev: 5, Turn: 2}, func(client.Sight) { seen++ })
		if !errors.Is(err, client.ErrNotBegun) || seen != 3 {
			t.Errorf("got %v after %d commits, want that it did not begin after 3", err, seen)
		}
	})
	t.Run("and whoever waits hears nothing of it", func(t *testing.T) {
		t.Parallel()
		i := install(t)
		chat := i.create()
		if _, err := i.client.Say(t.Context(), chat, "hello", nil); err != nil {
			t.Fatal(err)
		}
		w, err := i.client.OpenWatcher(t.Context(), chat)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Mute(); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		reply, err := i.client.Command(t.Context(), chat, protocol.Rename{V: protocol.Version, Title: "elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		reply.Turn = 2
		if _, err := w.Until(t.Context(), reply, nil); !errors.Is(err, client.ErrNotBegun) {
			t.Errorf("got %v, want that it did not begin", err)
		}
	})
}

// A feed that loses the end of a turn is noticed: the chat is asked how it stands.
func TestWhatTheFeedLosesIsMissed(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()
	c := client.New(i.connect(), "", "")
	w, err := c.OpenWatcher(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	reply, err := c.Send(t.Context(), chat, "wait")
	if err != nil {
		t.Fatal(err)
	}
	var missed *client.Missed
	turn, err := w.Until(t.Context(), reply, func(s client.Sight) {
		switch {
		case s.Missed != nil:
			missed = s.Missed
		case s.Delta != nil && missed == nil:
			if err := w.Mute(); err != nil {
				t.Error(err)
			}
			if _, err := i.client.Interrupt(t.Context(), chat, reply.Turn, "unheard"); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || turn.Status != transcript.TurnInterrupted || turn.Reason != "unheard" {
		t.Errorf("turn %+v, error %v", turn, err)
	}
	if missed == nil || missed.Running || missed.To < missed.From {
		t.Errorf("missed %+v", missed)
	}
}

func TestWhatTheServerForbidsIsSaid(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(t.Context(), embedded.Options{Store: t.TempDir(), Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"everturn.>"}},
		}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nc, err := nats.Connect(s.URL(), nats.UserInfo("u", "p"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := client.New(nc, "", "")
	if _, err := c.Send(t.Context(), "c1", "hello"); !errors.Is(err, client.ErrNotAllowed) {
		t.Errorf("send gives %v", err)
	}
	if _, err := c.Head(t.Context(), "c1"); !errors.Is(err, client.ErrNotAllowed) {
		t.Errorf("head gives %v", err)
	}
}

func TestWithoutAnInstallationItIsSaidWhatIsMissing(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(t.Context(), embedded.Options{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nc, err := s.Connect("nobody else")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := client.New(nc, "", "")
	if _, err := c.Send(t.Context(), "c1", "hello"); !errors.Is(err, client.ErrNoStreams) {
		t.Errorf("send gives %v", err)
	}
	if _, err := c.Transcript(t.Context(), "c1"); !errors.Is(err, client.ErrNoService) {
		t.Errorf("transcript gives %v", err)
	}
}

func TestASightIsOneObjectOfOneField(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]client.Sight{
		`{"missed":{"from":3,"to":4,"running":true}}`: {Missed: &client.Missed{From: 3, To: 4, Running: true}},
		`{"progress":{"call":"1.1.1","i":2,"text":"x"}}`: {Progress: &protocol.Progress{
			Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, I: 2, Text: "x",
		}},
	} {
		if got, err := json.Marshal(s); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}
