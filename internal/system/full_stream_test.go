package system

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// A stream that is full holds up what needs it, and nothing else. Nothing that
// was stored is dropped, and when there is room again everything goes on.
func TestAFullStreamLosesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		stream string // or the beginning of the names of several
		stops  bool   // no turn gets anywhere
	}{
		{"the log", "LOG_", true},
		{"work", streams.WorkStream, true},
		{"timers", streams.TimersStream, false},
		{"snapshots", "KV_SNAPSHOTS", false},
		{"blobs", "OBJ_BLOBS", false},
		{"the feed", streams.FeedStream, false},
		{"dead letters", streams.DeadStream, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{ackWait: shortAckWait})
			said := newLines()
			s.startOrchestrator(func(cfg *orchestrator.Config, _ *orchestrator.Bus) { cfg.Log = slog.New(said) })
			s.startProjections()
			s.startRunner(nil)
			t.Cleanup(s.nothingIsLeft)
			c := s.chat(t, scripted(t, slowly))
			before := c.turn("Look.")
			restore := s.fillUp(t, tt.stream)
			id := client.NewID()
			if err := c.c.Submit(patient(t), c.key.Chat, id, send("Look again.")); err != nil {
				t.Fatalf("a command is refused: %v", err)
			}
			if tt.stops {
				eventually(t, "somebody could not get on with the command", func() bool { return said.times("command given back") > 0 })
				if c.waiting() != 1 || len(all[events.TurnCompleted](c.read())) != 1 {
					t.Errorf("%d commands wait, and the log is\n%s", c.waiting(), c.read())
				}
				restore()
			}
			if got := c.ended(2).finalText(); got != "The tool said: seen" {
				t.Errorf("the answer is %q", got)
			}
			if !tt.stops {
				restore()
			}
			after := c.read()
			for i, e := range before.entries {
				if e.Sequence != after.entries[i].Sequence || string(e.Commit) != string(after.entries[i].Commit) {
					t.Errorf("commit %d is not what it was", i+1)
				}
			}
			c.stillWorks()
		})
	}
}

func TestWithoutRoomForCommandsClientsAreTold(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, scripted(t, slowly))
	restore := s.fillUp(t, streams.CommandsStream)
	if err := c.c.Submit(patient(t), c.key.Chat, client.NewID(), send("Look.")); !errors.Is(err, protocol.ErrStorageFull) {
		t.Errorf("submit: %v, want that storage is full", err)
	}
	restore()
	if got := c.turn("Look.").finalText(); got != "The tool said: seen" {
		t.Errorf("the answer is %q", got)
	}
	c.stillWorks()
}

// fillUp leaves no room in the streams whose names begin so, and gives the
// function that makes room.
func (s *system) fillUp(t *testing.T, name string) (restore func()) {
	t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	var kept []jetstream.StreamConfig
	for info := range js.ListStreams(patient(t)).Info() {
		if !strings.HasPrefix(info.Config.Name, name) {
			continue
		}
		kept = append(kept, info.Config)
		full := info.Config
		full.MaxBytes = int64(max(info.State.Bytes, 1))
		s.update(js, full)
	}
	return func() {
		t.Helper()
		for _, config := range kept {
			s.update(js, config)
		}
	}
}

func (s *system) update(js jetstream.JetStream, config jetstream.StreamConfig) {
	s.untilItWorks("update "+config.Name, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := js.UpdateStream(ctx, config)
		return err
	})
}
