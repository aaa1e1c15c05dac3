package membus

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Prefixes of what the queues hold; a subject function spells them.
var (
	commandPrefix  = prefixOf(protocol.CommandSubject(events.Key{Tenant: protocol.Any, Chat: protocol.Any}, protocol.Any))
	chatWorkPrefix = prefixOf(protocol.ChatWorkSubject(events.Key{Tenant: protocol.Any, Chat: protocol.Any}, protocol.Any))
	duePrefix      = prefixOf(protocol.TimerDueSubject(events.Key{Tenant: protocol.Any, Chat: protocol.Any}, protocol.Any))
)

// prefixOf is the part of a filter before its first wildcard.
func prefixOf(filter string) string {
	for i := range filter {
		if filter[i:i+1] == protocol.Any {
			return filter[:i]
		}
	}
	return filter
}

// Commands are the stored commands, in order.
func (s *Server) Commands() []protocol.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands.all()
}

// Work is the stored work, in order.
func (s *Server) Work() []protocol.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work.all()
}

// Timers counts the timers that are set or due.
func (s *Server) Timers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.schedules) + len(s.timers.messages)
}

// unreachable is how long a message that a queue has lost sight of stays away.
const unreachable = 100 * 365 * 24 * time.Hour

// Misplace does to one of the stored messages, by number, what the worst day of
// a server may do: it loses sight of a command, which stays stored and is handed
// to nobody any more, or loses work or a timer that it had acknowledged. It says
// what it did; empty if nothing is stored.
func (s *Server) Misplace(n uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fire()
	var lose []func() string
	for _, m := range s.commands.messages {
		lose = append(lose, func() string {
			m.visible = time.Now().Add(unreachable)
			return "sight of " + m.Subject
		})
	}
	for _, q := range []*queue{s.work, s.timers} {
		for _, m := range q.messages {
			lose = append(lose, func() string {
				q.remove(m.Sequence)
				return m.Subject
			})
		}
	}
	for _, set := range slices.Sorted(maps.Keys(s.schedules)) {
		lose = append(lose, func() string {
			delete(s.schedules, set)
			return set
		})
	}
	if len(lose) == 0 {
		return ""
	}
	return lose[n%uint64(len(lose))]()
}

func (q *queue) all() []protocol.Stored {
	all := make([]protocol.Stored, 0, len(q.messages))
	for _, m := range q.messages {
		all = append(all, m.Stored)
	}
	return all
}

// commands implements [orchestrator.Commands].
type commands struct{ p *Process }

func (c commands) Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return c.p.server.commands.fetch(ctx, c.p, "commands", commandPrefix, limit)
}

func (c commands) First(ctx context.Context, k events.Key, from uint64) (protocol.Stored, error) {
	op := Op{Kind: "commands.first", Subject: k.String(), Stage: StageRead}
	return step(ctx, c.p, op, func(Fate) (protocol.Stored, error) {
		return c.p.server.commands.from(from, prefixOf(protocol.CommandSubject(k, protocol.Any)))
	})
}

func (c commands) Oldest(ctx context.Context, from uint64) (protocol.Stored, error) {
	return step(ctx, c.p, Op{Kind: "commands.oldest", Stage: StageRead}, func(Fate) (protocol.Stored, error) {
		return c.p.server.commands.from(from, commandPrefix)
	})
}

func (c commands) Delete(ctx context.Context, sequence uint64) error {
	op := Op{Kind: "commands.delete", Subject: strconv.FormatUint(sequence, 10), Stage: StageWrite}
	_, err := step(ctx, c.p, op, func(Fate) (struct{}, error) {
		if m, ok := c.p.server.commands.get(sequence); ok {
			c.p.server.commands.remove(sequence)
			c.p.server.settled("commands.delete", m.Stored)
		}
		c.p.server.change()
		return struct{}{}, nil
	})
	return err
}

func (c commands) Reply(ctx context.Context, tenant string, r protocol.Reply) error {
	subject := protocol.ReplySubject(tenant, r.ID)
	_, err := step(ctx, c.p, Op{Kind: "commands.reply", Subject: subject, Stage: StageWrite}, func(Fate) (struct{}, error) {
		if seen := c.p.server.options.Observer.Replied; seen != nil {
			seen(tenant, r)
		}
		for _, listener := range c.p.server.replies[subject] {
			select {
			case listener <- r:
			default: // it has an outcome already
			}
		}
		return struct{}{}, nil
	})
	return err
}
