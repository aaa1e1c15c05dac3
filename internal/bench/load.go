package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	loadTurns      = 250 // of the chat that is loaded: 8 events each
	eventsPerTurn  = 8
	eventsPerOther = 2   // of each commit of the others
	otherBytes     = 600 // of each of them
	otherChats     = 5_000
	loadRounds     = 5
	publishAhead   = 1_000 // of the others, not yet acknowledged
)

// measureLoad times the first command of a chat that an orchestrator has never
// seen, less that of one it has in its cache: what loading it takes.
func measureLoad(ctx context.Context, o Options) (Load, error) {
	l := Load{Events: loadTurns * eventsPerTurn, Others: o.Others}
	r, err := startReal(ctx, false, o.Tool)
	if err != nil {
		return l, err
	}
	defer func() { _ = r.close() }() // what was measured is measured
	real := one{rig: r, real: true}
	if _, err := real.sizes(ctx); err != nil { // the tool is there
		return l, err
	}
	k, ended, err := r.chat(ctx, true)
	if err != nil {
		return l, err
	}
	for range loadTurns {
		if err := r.turn(ctx, k, ended); err != nil {
			return l, err
		}
	}
	if err := r.others(o.Others); err != nil {
		return l, err
	}
	if l.EventsPerSecond, err = r.refold(ctx, k); err != nil {
		return l, err
	}
	if l.WithSnapshot, err = r.coldStarts(ctx, k, func() error { return nil }); err != nil {
		return l, err
	}
	l.WithoutSnapshot, err = r.coldStarts(ctx, k, func() error {
		s, err := r.js.Stream(ctx, "KV_SNAPSHOTS")
		if err != nil {
			return err
		}
		return s.Purge(ctx)
	})
	return l, err
}

// coldStarts is the median time of loading the chat into a new orchestrator.
func (r *rig) coldStarts(ctx context.Context, k events.Key, before func() error) (float64, error) {
	c := client.New(r.nc, k.Tenant, "bench")
	var taken []float64
	for n := range loadRounds {
		r.orchestrator.stop()
		if err := before(); err != nil {
			return 0, fmt.Errorf("bench: %w", err)
		}
		if err := r.startOrchestrator(ctx); err != nil {
			return 0, err
		}
		if _, err := c.Command(ctx, client.NewID(), protocol.Create{V: 1}); err != nil { // it is at work
			return 0, err
		}
		var times [2]time.Duration // cold, warm
		for i := range times {
			start := time.Now()
			if _, err := c.Command(ctx, k.Chat, protocol.Rename{V: 1, Title: fmt.Sprint(n, i)}); err != nil {
				return 0, err
			}
			times[i] = time.Since(start)
		}
		taken = append(taken, ms(times[0]-times[1]))
	}
	return median(taken), nil
}

// others fills the log with commits of other chats.
func (r *rig) others(count int) error {
	topology, err := streams.LoadTopology("")
	if err != nil {
		return err
	}
	body := slices.Repeat([]byte("x"), otherBytes)
	var last *nats.Subscription
	inbox := r.nc.NewRespInbox()
	if last, err = r.nc.SubscribeSync(inbox); err != nil {
		return err
	}
	defer func() { _ = last.Unsubscribe() }() // fails only on a closed connection
	waiting := 0
	for n := range count / eventsPerOther {
		k := events.Key{Tenant: client.DefaultTenant, Chat: fmt.Sprint("other-", n%otherChats)}
		m := &nats.Msg{Subject: protocol.LogSubject(protocol.Shard(k, topology.Shards()), k), Reply: inbox, Data: body}
		if err := r.nc.PublishMsg(m); err != nil {
			return err
		}
		if waiting++; waiting == publishAhead {
			for ; waiting > 0; waiting-- {
				if _, err := last.NextMsg(time.Minute); err != nil {
					return fmt.Errorf("bench: fill the log: %w", err)
				}
			}
		}
	}
	for ; waiting > 0; waiting-- {
		if _, err := last.NextMsg(time.Minute); err != nil {
			return fmt.Errorf("bench: fill the log: %w", err)
		}
	}
	return nil
}

// refold gives how many events a second are decoded and folded, from memory.
func (r *rig) refold(ctx context.Context, k events.Key) (float64, error) {
	reader, err := streams.OpenReader(ctx, r.nc, streams.Options{})
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	last, err := reader.Log.Last(ctx, k)
	if err != nil {
		return 0, err
	}
	var bodies [][]byte
	for m, err := range reader.Log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return 0, err
		}
		bodies = append(bodies, m.Body)
	}
	var rates []float64
	for range loadRounds {
		folded := 0
		start := time.Now()
		var s chat.State
		for _, b := range bodies {
			c, err := events.Decode(b)
			if err != nil {
				return 0, err
			}
			s = s.Apply(c, events.Hash(b))
			folded += len(c.Events)
		}
		rates = append(rates, float64(folded)/time.Since(start).Seconds())
	}
	return median(rates), nil
}
