package streams_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// stage is one server with the streams and a bus over it.
type stage struct {
	*streams.Bus
	server *embedded.Server
	js     jetstream.JetStream // of somebody else
}

func newStage(t *testing.T, replace ...string) stage {
	t.Helper()
	s := bareServer(t, nil)
	js := clientOf(t, s)
	topology := mustTopology(t, replace...)
	mustApply(t, topology, js, streams.ApplyOptions{AckWait: testAckWait})
	return stage{Bus: openBus(t, s), server: s, js: js}
}

// grow appends n commits to the chat and gives their sequences.
func grow(t *testing.T, log *streams.Log, k events.Key, n int) []uint64 {
	t.Helper()
	var sequences []uint64
	var fence uint64
	if last, err := log.Last(t.Context(), k); err == nil {
		fence = last.Sequence
	}
	for i := range n {
		var err error
		fence, err = appendAlone(t, log, protocol.Append{Key: k, Fence: fence, Body: fmt.Appendf(nil, "commit %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, fence)
	}
	return sequences
}

// appendAlone appends what nobody contends. Right after an answer, replicas may
// still take the write before for one under way.
func appendAlone(t *testing.T, log *streams.Log, a protocol.Append) (uint64, error) {
	t.Helper()
	for {
		sequence, err := log.Append(t.Context(), a)
		if !errors.Is(err, events.ErrConflict) {
			return sequence, err
		}
		if last, lastErr := log.Last(t.Context(), a.Key); lastErr != nil || last.Sequence != a.Fence {
			return 0, err
		}
	}
}

func readAll(t *testing.T, log *streams.Log, k events.Key, after, through uint64) ([]uint64, error) {
	t.Helper()
	var sequences []uint64
	for m, err := range log.Read(t.Context(), k, after, through) {
		if err != nil {
			return sequences, err
		}
		if m.Subject != protocol.LogSubject(protocol.Shard(k, log.Shards()), k) || m.Time.IsZero() || len(m.Body) == 0 {
			t.Errorf("read %+v, want a whole commit of %s", m, k)
		}
		sequences = append(sequences, m.Sequence)
	}
	return sequences, nil
}

// sameShard is a chat in the same stream as k.
func sameShard(k events.Key, shards int) events.Key {
	for i := 0; ; i++ {
		other := events.Key{Tenant: k.Tenant, Chat: "other" + strconv.Itoa(i)}
		if protocol.Shard(other, shards) == protocol.Shard(k, shards) {
			return other
		}
	}
}

func TestBehindOneFenceOneOfEightWins(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	js := clientOf(t, servers[0])
	awaitLeader(t, js)
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	const writers, rounds = 8, 100
	logs := make([]*streams.Log, writers)
	for i := range logs {
		logs[i] = openBus(t, servers[i%len(servers)]).Log
	}
	var fence uint64
	for won := 0; won < rounds; {
		var (
			wg      sync.WaitGroup
			winners atomic.Int32
			next    atomic.Uint64
		)
		for i, log := range logs {
			wg.Go(func() {
				sequence, err := log.Append(t.Context(), protocol.Append{Key: someChat, Fence: fence, Body: fmt.Appendf(nil, "%d behind %d", i, fence)})
				switch {
				case err == nil:
					winners.Add(1)
					next.Store(sequence)
				case !errors.Is(err, events.ErrConflict):
					t.Errorf("a loser got %v, want a conflict", err)
				}
			})
		}
		wg.Wait()
		switch winners.Load() {
		case 0: // the write before was still under way for all of them
		case 1:
			fence = next.Load()
			won++
		default:
			t.Fatalf("behind the fence %d %d won", fence, winners.Load())
		}
	}
	if got, err := readAll(t, logs[0], someChat, 0, fence); err != nil || len(got) != rounds {
		t.Errorf("read %d commits and %v, want %d", len(got), err, rounds)
	}
}

func TestALongLogIsReadInOrderAndWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	other := sameShard(someChat, s.Log.Shards())
	want := grow(t, s.Log, someChat, 300)
	grow(t, s.Log, other, 20)
	want = append(want, grow(t, s.Log, someChat, 300)...)
	last := want[len(want)-1]
	for _, tt := range []struct {
		name           string
		after, through uint64
		want           []uint64
	}{
		{"all of it", 0, last, want},
		{"a part", want[10], want[580], want[11:581]},
		{"the last two", want[597], last, want[598:]},
		{"through another chat's message", want[298], want[299] + 5, want[299:300]},
		{"nothing new", last, last, nil},
	} {
		got, err := readAll(t, s.Log, someChat, tt.after, tt.through)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: read %d commits and error %v, want %d", tt.name, len(got), err, len(tt.want))
		}
	}
}

func TestALogThatEndsTooEarlyIsAnError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	sequences := grow(t, s.Log, someChat, 3)
	beyond := sequences[2] + 1
	if got, err := readAll(t, s.Log, someChat, 0, beyond); err == nil || len(got) != 3 {
		t.Errorf("read %d commits and %v, want three and an error: message %d was never stored", len(got), err, beyond)
	}
	if _, err := readAll(t, s.Log, events.Key{Tenant: "default", Chat: "unheard-of"}, 0, 1_000); err == nil {
		t.Error("a log without the message that is said to be there was read without an error")
	}
}

// A replica may be behind. What it lacks must come from the leader, and never
// be taken for the end.
// replica answers in the place of one that is asked for a batch. Asked for one
// message it is nobody.
func replica(t *testing.T, nc *nats.Conn, stream string, answer func(*nats.Msg)) {
	t.Helper()
	subscribe(t, nc, "$JS.API.DIRECT.GET."+stream, func(m *nats.Msg) {
		if bytes.Contains(m.Data, []byte(`"batch"`)) {
			answer(m)
			return
		}
		if err := m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"503"}}}); err != nil {
			t.Error(err)
		}
	})
}

func TestAReplicaThatIsBehindIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	want := grow(t, s.Log, someChat, 20)
	stream := streams.LogStream(protocol.Shard(someChat, s.Log.Shards()))
	editStream(t, s.js, stream, func(c *jetstream.StreamConfig) { c.AllowDirect = false })
	var asked atomic.Int32
	behind := func(m *nats.Msg) { // has the second and third commit, and nothing else
		asked.Add(1)
		var before uint64
		for _, sequence := range want[1:3] {
			if asked.Load() > 1 {
				break
			}
			answer := nats.NewMsg(m.Reply)
			answer.Data = []byte("commit")
			for key, value := range map[string]string{
				"Nats-Stream": stream, "Nats-Subject": protocol.LogSubject(protocol.Shard(someChat, s.Log.Shards()), someChat),
				"Nats-Sequence": strconv.FormatUint(sequence, 10), "Nats-Time-Stamp": "2026-11-29T12:00:00.123456789Z",
				"Nats-Last-Sequence": strconv.FormatUint(before, 10),
			} {
				answer.Header.Set(key, value)
			}
			before = sequence
			if err := m.RespondMsg(answer); err != nil {
				t.Error(err)
			}
		}
		end := nats.NewMsg(m.Reply)
		end.Header.Set("Status", "204")
		if err := m.RespondMsg(end); err != nil {
			t.Error(err)
		}
	}
	replica(t, s.js.Conn(), stream, behind)
	got, err := readAll(t, s.Log, someChat, 0, want[19])
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v and %v, want %v", got, err, want)
	}
	if asked.Load() < 2 {
		t.Errorf("the replica was asked %d times, want again and again", asked.Load())
	}
}

func TestAGapInABatchIsAnError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	want := grow(t, s.Log, someChat, 5)
	shard := protocol.Shard(someChat, s.Log.Shards())
	stream := streams.LogStream(shard)
	editStream(t, s.js, stream, func(c *jetstream.StreamConfig) { c.AllowDirect = false })
	replica(t, s.js.Conn(), stream, func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Header.Set("Nats-Subject", protocol.LogSubject(shard, someChat))
		answer.Header.Set("Nats-Sequence", strconv.FormatUint(want[2], 10))
		answer.Header.Set("Nats-Time-Stamp", "2026-11-29T12:00:00Z")
		answer.Header.Set("Nats-Last-Sequence", strconv.FormatUint(want[1], 10)) // and that one did not come
		if err := m.RespondMsg(answer); err != nil {
			t.Error(err)
		}
	})
	if got, err := readAll(t, s.Log, someChat, 0, want[4]); err == nil {
		t.Errorf("read %v without an error", got)
	}
}

// Everything on which a decision rests is asked of the leader, which is any
// server only where there is but one.
func TestOnlyTheLeaderIsBelieved(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		decisionReads(t, newStage(t), "LOG_", "COMMANDS", "COMMANDS")
	})
	t.Run("a cluster", func(t *testing.T) {
		t.Parallel()
		servers := cluster(t)
		js := clientOf(t, servers[0])
		awaitLeader(t, js)
		mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
		decisionReads(t, stage{Bus: openBus(t, servers[0]), server: servers[0], js: js})
	})
}

// Where the short way is barred, as by roles of an older release, the second try
// takes the other one.
func TestADirectReadThatNobodyAnswersGivesWay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	grow(t, s.Log, someChat, 1)
	bus, err := streams.Open(t.Context(), clientOf(t, s.server).Conn(), streams.Options{Try: patience / 50})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	stream := streams.LogStream(protocol.Shard(someChat, s.Log.Shards()))
	editStream(t, s.js, stream, func(c *jetstream.StreamConfig) { c.AllowDirect = false })
	subscribe(t, s.js.Conn(), "$JS.API.DIRECT.GET."+stream, func(*nats.Msg) {})
	if _, err := bus.Log.Last(t.Context(), someChat); err == nil {
		t.Error("the direct read was answered")
	}
	if m, err := bus.Log.Last(t.Context(), someChat); err != nil || string(m.Body) != "commit 0" {
		t.Errorf("the second try gives %q, %v", m.Body, err)
	}
}

// decisionReads does one of each read that a decision may rest on, and wants
// those of these streams to be direct gets.
func decisionReads(t *testing.T, s stage, want ...string) {
	t.Helper()
	reads := make(chan string, 64)
	subscribe(t, s.js.Conn(), "$JS.API.DIRECT.GET.>", func(m *nats.Msg) { reads <- strings.TrimPrefix(m.Subject, "$JS.API.DIRECT.GET.") })
	sequence, err := appendAlone(t, s.Log, protocol.Append{Key: someChat, Body: []byte("commit")})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Log.Last(t.Context(), someChat); err != nil || m.Sequence != sequence || string(m.Body) != "commit" {
		t.Errorf("the last commit is %+v, %v", m, err)
	}
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	if m, err := s.Commands.First(t.Context(), someChat, 0); err != nil || m.Sequence != 1 {
		t.Errorf("the first command is %+v, %v", m, err)
	}
	if _, err := s.Commands.Oldest(t.Context(), 0); err != nil {
		t.Error(err)
	}
	content := []byte("content")
	if err := s.Blobs.Put(t.Context(), someChat, events.DigestOf(content), content); err != nil {
		t.Error(err)
	}
	if _, err := s.Blobs.Get(t.Context(), someChat, events.DigestOf(content)); err != nil {
		t.Error(err)
	}
	if _, err := s.Dead.Note(t.Context(), someChat, "01ARZ3NDEKTSV4RRFFQ69G5FAV"); err != nil {
		t.Error(err)
	}
	// The subscription sees such reads, and this one is the last.
	if _, err := s.Snapshots.Get(t.Context(), someChat, 1); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	for _, stream := range append(want, "KV_SNAPSHOTS") {
		if got := <-reads; !strings.HasPrefix(got, stream) {
			t.Errorf("read %s directly, want %s", got, stream)
		}
	}
}

// Clients choose the headers of a command; the server adds its own behind them.
func TestACommandCannotPassForAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	other := events.Key{Tenant: "globex", Chat: someChat.Chat}
	began := time.Now().Add(-time.Minute)
	sequence, err := publishCommand(t, s.js, someChat, "send", map[string]string{
		"Nats-Subject":    protocol.CommandSubject(other, "send"),
		"Nats-Sequence":   "7",
		"Nats-Time-Stamp": "2000-01-01T00:00:00Z",
	}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Commands.First(t.Context(), someChat, 0)
	if err != nil || m.Subject != protocol.CommandSubject(someChat, "send") || m.Sequence != sequence || m.Time.Before(began) {
		t.Errorf("read %+v and %v", m, err)
	}
}
