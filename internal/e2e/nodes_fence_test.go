//go:build processes

package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// positions is how often two writers want the same place, in each race.
var positions = flag.Int("positions", 2000, "places that two writers contend for, in each race")

const (
	racers  = 2
	lanes   = 8 // places that are contended for at the same time
	perStep = 8 // step-downs in each race, and one death in the middle

	// raceTime is generous: 20,000 places on a busy machine, with elections.
	raceTime = 30 * time.Minute
)

// Two writers append to one chat's subject behind the same fence, while the
// leaders of the logs step down and one dies: each place has one winner, and
// whoever was told to have won is who is read there.
func TestNodesFenceRace(t *testing.T) {
	n := startNodes(t, settings{})
	writers := [racers]*streams.Bus{n.writer(0), n.writer(1)}
	race := &race{t: t}
	race.run(n, streams.LogStream, func(ctx context.Context, lane, places int) error {
		k := events.Key{Tenant: client.DefaultTenant, Chat: fmt.Sprintf("raced-%d", lane)}
		var fence uint64
		var won [][]byte
		for place := range places {
			last, err := race.append(ctx, writers, k, fence, place)
			if err != nil {
				return fmt.Errorf("chat %s place %d: %w", k, place, err)
			}
			won, fence = append(won, last.Body), last.Sequence
		}
		place := 0
		for m, err := range writers[0].Log.Read(ctx, k, 0, fence) {
			switch {
			case err != nil:
				return err
			case place >= len(won) || !bytes.Equal(m.Body, won[place]):
				return fmt.Errorf("chat %s: %s is stored at place %d", k, m.Body, place)
			}
			place++
		}
		if place != places {
			return fmt.Errorf("chat %s has %d messages, want %d", k, place, places)
		}
		return nil
	})
}

// Two put the same work, each place a subject of its own that holds nothing yet:
// it is stored once, and one of them at most was told so.
func TestNodesFirstOfASubjectRace(t *testing.T) {
	n := startNodes(t, settings{})
	writers := [racers]*streams.Bus{n.writer(0), n.writer(1)}
	race := &race{t: t}
	race.run(n, func(int) string { return streams.WorkStream }, func(ctx context.Context, lane, places int) error {
		for place := range places {
			work := protocol.ModelWork{
				V: protocol.Version, Tenant: client.DefaultTenant, Chat: fmt.Sprintf("raced-%d", lane),
				Rev: 1, Step: events.StepID{Turn: place + 1, Step: 1}, Attempt: 1, Purpose: events.PurposeAnswer, Pool: "raced",
			}
			if err := race.put(ctx, writers, work); err != nil {
				return fmt.Errorf("work %d of lane %d: %w", place, lane, err)
			}
		}
		return nil
	})
	s, err := n.jetStream().Stream(patient(t), streams.WorkStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(patient(t), jetstream.WithSubjectFilter(protocol.ModelWorkFilter("raced")))
	if err != nil {
		t.Fatal(err)
	}
	if len(info.State.Subjects) != race.places() || info.State.Msgs != uint64(race.places()) {
		t.Errorf("%d messages of %d subjects are stored, want %d", info.State.Msgs, len(info.State.Subjects), race.places())
	}
}

// race counts what happens while writers contend.
type race struct {
	t      *testing.T
	done   atomic.Int64 // places that are decided
	unsure atomic.Int64 // answers that said neither yes nor no
	untold atomic.Int64 // places whose winner was not told
}

func (r *race) places() int { return *positions / lanes * lanes }

// run has every lane contend for its share, disturbs the streams meanwhile, and
// prints what came of it.
func (r *race) run(n *nodes, stream func(shard int) string, lane func(ctx context.Context, lane, places int) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), raceTime)
	defer cancel()
	began, raced := time.Now(), make(chan error, 1)
	go func() {
		raced <- together(lanes, func(i int) error {
			err := lane(ctx, i, r.places()/lanes)
			if err != nil {
				cancel() // there is no use in going on
			}
			return err
		})
	}()
	shards := n.reader().log.Shards()
	for disturbed := range perStep + 1 {
		if !r.reaches(ctx, (disturbed+1)*r.places()/(perStep+2)) {
			break
		}
		if disturbed == perStep/2 {
			name := n.leader(stream(disturbed % shards))
			n.kill(name)
			n.restartNode(name)
			continue
		}
		n.stepDown(stream(disturbed % shards))
	}
	if err := <-raced; err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("%d places, each wanted by %d, in %v: 0 with two winners; %d step-downs and a death; %d answers neither yes nor no, %d winners untold",
		r.done.Load(), racers, time.Since(began).Round(time.Second), perStep, r.unsure.Load(), r.untold.Load())
}

// reaches waits until so many places are decided.
func (r *race) reaches(ctx context.Context, places int) bool {
	for int(r.done.Load()) < places {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(poll):
		}
	}
	return true
}

// append has all writers append behind the fence at once, until something is
// stored there, and gives what.
func (r *race) append(ctx context.Context, writers [racers]*streams.Bus, k events.Key, fence uint64, place int) (protocol.Stored, error) {
	for {
		var told [racers]uint64
		var all sync.WaitGroup
		for i, w := range writers {
			all.Go(func() {
				told[i] = r.appendOnce(ctx, w, protocol.Append{Key: k, Fence: fence, Body: bodyOf(i, place)})
			})
		}
		all.Wait()
		last, err := r.last(ctx, writers[0], k)
		if err != nil {
			return last, err
		}
		if last.Sequence == fence { // each was told that the other was about to
			continue
		}
		winners := 0
		for i, sequence := range told {
			if sequence == 0 {
				continue
			}
			winners++
			if sequence != last.Sequence || !bytes.Equal(last.Body, bodyOf(i, place)) {
				return last, fmt.Errorf("writer %d was told to have won with message %d; message %d is %s", i, sequence, last.Sequence, last.Body)
			}
		}
		if winners == 0 {
			r.untold.Add(1)
		}
		r.done.Add(1)
		return last, nil
	}
}

// bodyOf is what a writer wants to be at a place.
func bodyOf(writer, place int) []byte {
	return fmt.Appendf(nil, `{"writer":%d,"place":%d}`, writer, place)
}

// appendOnce tries until there is an answer, and gives the sequence if it is yes.
func (r *race) appendOnce(ctx context.Context, w *streams.Bus, a protocol.Append) uint64 {
	for ctx.Err() == nil {
		switch sequence, err := w.Log.Append(ctx, a); {
		case err == nil:
			return sequence
		case errors.Is(err, events.ErrConflict):
			return 0
		}
		r.ask(ctx)
	}
	return 0
}

// ask counts an answer that says nothing, and waits before the next try.
func (r *race) ask(ctx context.Context) {
	r.unsure.Add(1)
	select {
	case <-ctx.Done():
	case <-time.After(poll):
	}
}

// last is the newest message of the chat, sequence 0 if it has none.
func (r *race) last(ctx context.Context, w *streams.Bus, k events.Key) (protocol.Stored, error) {
	for {
		last, err := w.Log.Last(ctx, k)
		if err == nil || errors.Is(err, protocol.ErrNotFound) {
			return last, nil
		}
		if ctx.Err() != nil {
			return last, err
		}
	}
}

// put has all writers put the work at once, until each is told whether it was
// who stored it.
func (r *race) put(ctx context.Context, writers [racers]*streams.Bus, work protocol.Work) error {
	var stored [racers]bool
	var all sync.WaitGroup
	for i, w := range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				var err error
				if stored[i], err = w.Work.Put(ctx, work); err == nil {
					return
				}
				r.ask(ctx)
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	winners := 0
	for _, yes := range stored {
		if yes {
			winners++
		}
	}
	switch winners {
	case 0:
		r.untold.Add(1)
	case racers:
		return errors.New("both were told to have stored it")
	}
	r.done.Add(1)
	return nil
}
