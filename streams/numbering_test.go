package streams_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// nameCommands stores commits that name these numbers as those of their commands.
func nameCommands(t *testing.T, log *streams.Log, numbers ...uint64) {
	t.Helper()
	for _, n := range numbers {
		k := events.Key{Tenant: "acme", Chat: fmt.Sprint("named-", n)}
		body := fmt.Appendf(nil, `{"v":1,"cause":{"kind":"command","id":"c","sequence":%d},"events":[]}`, n)
		if _, err := log.Append(t.Context(), protocol.Append{Key: k, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
}

// nextNumber stores a command and gives its number.
func nextNumber(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	ack, err := js.Publish(t.Context(), protocol.CommandSubject(someChat, "send"), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// forgetCommands makes the queue anew, as a release did that knew no better.
func forgetCommands(t *testing.T, s stage) {
	t.Helper()
	config := streamConfig(t, s.js, streams.CommandsStream)
	queue, err := s.js.Consumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer)
	if err == nil {
		err = s.js.DeleteStream(t.Context(), streams.CommandsStream)
	}
	if err == nil {
		_, err = s.js.CreateStream(t.Context(), config)
	}
	if err == nil {
		_, err = s.js.CreateConsumer(t.Context(), streams.CommandsStream, queue.CachedInfo().Config)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommandsOfAnEmptyServerCountFromOne(t *testing.T) {
	t.Parallel()
	if n := nextNumber(t, newStage(t).js); n != 1 {
		t.Errorf("the first command has number %d", n)
	}
}

func TestCommandsThatAreMadeAnewCountFromAboveWhatTheLogNames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 3 { // each time from above the last
		last := nextNumber(t, s.js)
		nameCommands(t, s.Log, last)
		if err := s.js.DeleteStream(t.Context(), streams.CommandsStream); err != nil {
			t.Fatal(err)
		}
		plan := mustApply(t, mustTopology(t), s.js, streams.ApplyOptions{AckWait: testAckWait})
		first := streamConfig(t, s.js, streams.CommandsStream).FirstSeq
		planned(t, plan,
			fmt.Sprintf("create COMMANDS: first sequence 1 → %d (the log has commits, which name lower ones)", first), "create COMMANDS.orchestrator")
		planned(t, mustApply(t, mustTopology(t), s.js, streams.ApplyOptions{AckWait: testAckWait}))
		openBus(t, s.server)
		if n := nextNumber(t, s.js); n <= last || n != first {
			t.Errorf("the next command has number %d, want %d, and the log names %d", n, first, last)
		}
	}
}

func TestNothingRunsOnCommandsThatCountFromBelow(t *testing.T) {
	t.Parallel()
	const named = 300 // more than a batch: not only the first that is read counts
	s := newStage(t)
	var numbers []uint64
	for n := uint64(1); n <= named; n++ {
		numbers = append(numbers, n)
	}
	nameCommands(t, s.Log, numbers...)
	forgetCommands(t, s)
	stored := nextNumber(t, s.js)
	forgotten := streams.NumberingError{Last: stored, Named: named}

	_, err := streams.Open(t.Context(), s.js.Conn(), streams.Options{})
	low, ok := errors.AsType[*streams.NumberingError](err)
	if !ok || *low != forgotten {
		t.Fatalf("open gives %v, want %v", err, &forgotten)
	}
	topology := mustTopology(t)
	plan, err := topology.Diff(t.Context(), s.js, streams.ApplyOptions{AckWait: testAckWait})
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("update COMMANDS: last sequence %d → %d", stored, named)
	planned(t, plan, line)
	planned(t, mustApply(t, topology, s.js, streams.ApplyOptions{AckWait: testAckWait}), line)
	planned(t, mustApply(t, topology, s.js, streams.ApplyOptions{AckWait: testAckWait}))
	openBus(t, s.server)
	if n := storedIn(t, s.js, streams.CommandsStream); n != 1 {
		t.Errorf("%d commands are stored, want the one that was there", n)
	}
	if n := nextNumber(t, s.js); n != named+1 {
		t.Errorf("the next command has number %d, want %d", n, named+1)
	}
}

func TestCommandsThatAreFarTooOldAreNotMended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nameCommands(t, s.Log, 5_000_000)
	forgetCommands(t, s)
	last := nextNumber(t, s.js)
	_, err := mustTopology(t).Apply(t.Context(), s.js, streams.ApplyOptions{AckWait: testAckWait})
	low, ok := errors.AsType[*streams.NumberingError](err)
	if !ok || low.Why == "" {
		t.Fatalf("apply gives %v", err)
	}
	t.Log(err)
	if n := nextNumber(t, s.js); n != last+1 {
		t.Errorf("the next command has number %d, want %d", n, last+1)
	}
	// As the error says.
	if err := s.js.DeleteStream(t.Context(), streams.CommandsStream); err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), s.js, streams.ApplyOptions{AckWait: testAckWait})
	openBus(t, s.server)
	if n := nextNumber(t, s.js); n <= 5_000_000 {
		t.Errorf("the next command has number %d", n)
	}
}
