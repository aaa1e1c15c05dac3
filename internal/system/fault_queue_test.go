package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

// B55: a runner is suspended with a call in hand, another one gets it, the first
// comes back and acknowledges what is no longer its own, and the second dies.
// The queue then says that all is done. What is done is what the log says, so
// the call is dispatched again.
func TestB55ALateAckDoesNotMakeACallDone(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{ackWait: shortAckWait})
	s.startOrchestrator(nil)
	s.startProjections()
	s.startRunner(nil).halt() // its tools stay known
	c := s.chat(t, scripted(t, toolThenText("      - call: {name: repeatable, arguments: '{\"text\": \"done\"}'}")))
	turn := c.do(send("Do it.")).Turn
	c.until("a call was requested", func(h history) bool { return len(all[events.ToolRequested](h)) > 0 })
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := js.Consumer(patient(t), streams.WorkStream, streams.ToolConsumer(all[events.ToolRequested](c.read())[0].Group))
	if err != nil {
		t.Fatal(err)
	}
	take := func(delivery uint64) jetstream.Msg {
		m, err := calls.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		if meta, err := m.Metadata(); err != nil || meta.NumDelivered != delivery {
			t.Fatalf("delivery %+v (%v), want number %d", meta, err, delivery)
		}
		return m
	}
	suspended := take(1)
	take(2) // by one that dies
	if err := suspended.DoubleAck(patient(t)); err != nil {
		t.Fatal(err)
	}
	if n := c.messages(streams.WorkStream, "everturn.work.tool.>"); n != 0 {
		t.Fatalf("%d calls are stored, want none: the late ack was taken", n)
	}
	s.startRunner(nil)
	if got := c.ended(turn).finalText(); got != "The tool said: done" {
		t.Errorf("the answer is %q", got)
	}
	if runs := s.tools.of(c.key); len(runs) != 1 {
		t.Errorf("the tool ran %d times, want once", len(runs))
	}
	c.stillWorks()
}

// B53: after a power cut the server comes back without commits that it had
// acknowledged. A chat that is known to have had more is stopped, and nothing is
// ever stored where the lost commits were; one that lost nothing goes on.
func TestB53AChatThatLostCommitsIsNeverForked(t *testing.T) {
	t.Parallel()
	store, saved := t.TempDir(), t.TempDir()
	logs := func(root string) string { return filepath.Join(root, "jetstream", "$G", "streams") }
	s := newSystem(t, options{store: store})
	first := s.startOrchestrator(nil)
	whole, short := s.chat(t, scripted(t, plain)), s.chat(t, scripted(t, plain))
	whole.turn("before the cut")
	whole.snapshot()
	short.turn("before the cut")
	kept := len(short.read().commits)
	first.halt()
	s.bus.Close()
	s.nc.Close()
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
	copyLogs(t, logs(store), logs(saved))

	second := newSystem(t, options{store: store})
	part := second.startOrchestrator(nil)
	c := second.again(t, short.key.Chat, scripted(t, plain))
	c.turn("acknowledged")
	c.snapshot()
	part.halt()
	second.bus.Close()
	second.nc.Close()
	if err := second.server.Close(); err != nil {
		t.Fatal(err)
	}
	copyLogs(t, logs(saved), logs(store)) // the cut

	after := newSystem(t, options{store: store})
	after.startOrchestrator(nil)
	after.startProjections()
	c = after.again(t, short.key.Chat, scripted(t, plain))
	for range 2 { // it stays so
		c.stopped(send("after the cut"))
	}
	if n := len(c.read().commits); n != kept {
		t.Errorf("%d commits, want the %d that were left", n, kept)
	}
	after.again(t, whole.key.Chat, scripted(t, plain)).stillWorks()
}

// copyLogs makes the logs in one folder what they are in another.
func copyLogs(t *testing.T, from, to string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(from, "LOG_*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no logs in %s: %v", from, err)
	}
	for _, name := range names {
		target := filepath.Join(to, filepath.Base(name))
		if err := os.RemoveAll(target); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(target, os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
}
