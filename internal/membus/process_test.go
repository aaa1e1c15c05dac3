package membus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/protocol"
)

var key = events.Key{Tenant: "default", Chat: "a"}

func TestAKilledProcessDoesNothing(t *testing.T) {
	t.Parallel()

	server := membus.New(membus.Options{})
	p := server.Process("one")
	fetched := make(chan error, 1)
	go func() {
		_, err := p.Orchestrator().Commands.Fetch(p.Context(), 1)
		fetched <- err
	}()
	p.Kill()
	if err := <-fetched; err == nil {
		t.Error("what waited when it was killed did not fail")
	}
	_, err := p.Orchestrator().Log.Append(t.Context(), protocol.Append{Key: key, Body: []byte("no")})
	if !errors.Is(err, membus.ErrKilled) {
		t.Errorf("got error %v, want %v", err, membus.ErrKilled)
	}
	if stored := server.Log(key); len(stored) != 0 {
		t.Errorf("it stored %d commits", len(stored))
	}
}

// gate has one fate for everything.
type gate struct {
	fate  membus.Fate
	float []func()
}

func (g *gate) Enter(context.Context, *membus.Op) (membus.Fate, error) { return g.fate, nil }
func (g *gate) Float(_ *membus.Op, effect func())                      { g.float = append(g.float, effect) }

func TestFates(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		fate   membus.Fate
		err    error
		stored int // right after
		later  int // when what is late has come
	}{
		{name: "well", stored: 1, later: 1},
		{name: "refused", fate: membus.Fate{Refuse: membus.ErrUnavailable}, err: membus.ErrUnavailable},
		{name: "answer lost", fate: membus.Fate{Lose: membus.ErrUnavailable}, err: membus.ErrUnavailable, stored: 1, later: 1},
		{name: "late", fate: membus.Fate{Late: membus.ErrUnavailable}, err: membus.ErrUnavailable, later: 1},
		{name: "crash", fate: membus.Fate{Crash: true}, err: membus.ErrKilled, stored: 1, later: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			g := &gate{fate: tt.fate}
			server := membus.New(membus.Options{Gate: g})
			p := server.Process("one")
			_, err := p.Orchestrator().Log.Append(t.Context(), protocol.Append{Key: key, Body: []byte("x")})
			if !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if n := len(server.Log(key)); n != tt.stored {
				t.Errorf("%d commits are stored, want %d", n, tt.stored)
			}
			for _, effect := range g.float {
				effect()
			}
			if n := len(server.Log(key)); n != tt.later {
				t.Errorf("in the end %d commits are stored, want %d", n, tt.later)
			}
			if p.Killed() != tt.fate.Crash {
				t.Errorf("killed is %v", p.Killed())
			}
		})
	}
}
