package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// chat is one chat of a system, with a model of its own.
type chat struct {
	*testing.T

	s     *system
	key   events.Key
	c     *client.Client
	model *provider
	log   log
}

// again is a chat that is there already.
func (s *system) again(t *testing.T, id string, m model.Model) *chat {
	t.Helper()
	c := &chat{T: t, s: s, c: client.New(s.nc, "", "user:test"), log: s.bus.Log}
	c.key = c.c.Key(id)
	c.model = s.models.add(id, m)
	return c
}

// log is what a chat is read from.
type log interface {
	Last(ctx context.Context, k events.Key) (protocol.Stored, error)
	Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error]
}

// chat makes a chat whose model is m.
func (s *system) chat(t *testing.T, m model.Model) *chat {
	t.Helper()
	c := s.again(t, client.NewID(), m)
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: c.key.Chat}})
	return c
}

// do gives a command that must succeed.
func (c *chat) do(body protocol.Body) protocol.Reply {
	c.Helper()
	r, err := c.c.Command(patient(c.T), c.key.Chat, body)
	if err != nil {
		c.Fatalf("%s: %v", body.Verb(), err)
	}
	return r
}

// refused gives a command that must be turned down, and gives the reply.
func (c *chat) refused(body protocol.Body) protocol.Reply {
	c.Helper()
	r, err := c.c.Command(patient(c.T), c.key.Chat, body)
	no, ok := errors.AsType[*client.RejectedError](err)
	if !ok {
		c.Fatalf("%s: reply %+v, error %v; want a no", body.Verb(), r, err)
	}
	return no.Reply
}

func send(text string) protocol.Send {
	return protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}
}

func interrupt(turn int) protocol.Interrupt {
	return protocol.Interrupt{V: protocol.Version, Turn: turn}
}

// turn says something and waits until the turn it starts has ended.
func (c *chat) turn(text string) history {
	c.Helper()
	return c.ended(c.do(send(text)).Turn)
}

// raw publishes a command as it is given, and gives the function that waits for
// its outcome.
func (c *chat) raw(verb string, header nats.Header, body []byte) (id string, outcome func() protocol.Reply) {
	c.Helper()
	id = header.Get(protocol.HeaderID)
	if id == "" {
		id = client.NewID()
	}
	return id, c.rawTo(protocol.CommandSubject(c.key, verb), c.key.Tenant, id, header, body)
}

func (c *chat) rawTo(subject, tenant, id string, header nats.Header, body []byte) func() protocol.Reply {
	c.Helper()
	replies, err := c.s.nc.SubscribeSync(protocol.ReplySubject(tenant, id))
	if err != nil {
		c.Fatal(err)
	}
	m := &nats.Msg{Subject: subject, Header: nats.Header{protocol.HeaderID: {id}}, Data: body}
	maps.Copy(m.Header, header)
	if _, err := c.s.nc.RequestMsgWithContext(patient(c.T), m); err != nil {
		c.Fatal(err)
	}
	return func() protocol.Reply {
		c.Helper()
		answer, err := replies.NextMsgWithContext(patient(c.T))
		if err != nil {
			c.Fatalf("no reply to %s: %v", id, err)
		}
		var r protocol.Reply
		if err := json.Unmarshal(answer.Data, &r); err != nil {
			c.Fatal(err)
		}
		return r
	}
}

// transcript is the chat as people read it, at least as new as the log is now.
func (c *chat) transcript() projections.Transcript {
	c.Helper()
	var t projections.Transcript
	q := projections.TranscriptRequest{Chat: c.key.Chat, MinRev: uint64(len(c.read().commits))}
	if err := c.c.Query(patient(c.T), projections.QueryTranscript, q, &t); err != nil {
		c.Fatal(err)
	}
	return t
}

// stillWorks says something more, wants the right answer, and judges the log.
func (c *chat) stillWorks() {
	c.Helper()
	h := c.turn(areYouThere)
	if got := h.finalText(); got != iAmHere {
		c.Errorf("the chat does not work any more: the answer is %q; the log is\n%s", got, h)
	}
	c.judge()
}

// judge runs the checker over the chat's log, which must be at rest.
func (c *chat) judge() {
	c.Helper()
	effects := []verify.Effect{}
	for _, r := range c.s.tools.of(c.key) {
		if r.tool == "effect" || r.tool == "repeatable" {
			effects = append(effects, verify.Effect{Key: c.key, Call: r.call, IdempotencyKey: r.key})
		}
	}
	blob := func(k events.Key, d events.Digest) ([]byte, error) { return c.s.bus.Blobs.Get(patient(c.T), k, d) }
	checker := verify.New(verify.Options{Idle: true, Shards: c.s.bus.Log.Shards(), Effects: effects, Blob: blob})
	again := replay.New(replay.Options{Blob: blob, Schema: c.s.schema})
	for _, e := range c.read().entries {
		checker.Add(e)
		again.Add(e.Sequence, e.Commit)
	}
	if d := again.Difference(); d != nil {
		c.Error(d)
	}
	for _, v := range checker.Finish(nil) {
		c.Error(v)
	}
	for _, u := range checker.Unread() {
		c.Errorf("commit %d cannot be read: %v", u.Sequence, u.Err)
	}
}

// schema is what judges the arguments of the tool with that manifest.
func (s *system) schema(d events.Digest) (json.RawMessage, error) {
	m, err := s.bus.Tools.Manifest(patient(s.T), d)
	return m.Schema, err
}

// history is a chat's log as read at one moment.
type history struct {
	entries []verify.Entry
	commits []events.Commit
}

func (c *chat) read() history {
	c.Helper()
	h, err := c.tryRead(patient(c.T))
	if err != nil {
		c.Fatal(err)
	}
	return h
}

func (c *chat) tryRead(ctx context.Context) (history, error) {
	var h history
	last, err := c.log.Last(ctx, c.key)
	if err != nil {
		return h, err
	}
	for m, err := range c.log.Read(ctx, c.key, 0, last.Sequence) {
		if err != nil {
			return h, err
		}
		commit, err := events.Decode(m.Body)
		if err != nil {
			return h, err
		}
		h.entries = append(h.entries, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
		h.commits = append(h.commits, commit)
	}
	return h, nil
}

// until reads the log again and again until holds says yes.
func (c *chat) until(what string, holds func(history) bool) history {
	c.Helper()
	ctx := patient(c.T)
	for {
		h, err := c.tryRead(ctx)
		if err == nil && holds(h) {
			return h
		}
		select {
		case <-ctx.Done():
			c.Fatalf("waited in vain until %s; the log is\n%s(%v)", what, h, err)
		case <-time.After(poll):
		}
	}
}

// ended waits until that turn has ended.
func (c *chat) ended(turn int) history {
	c.Helper()
	return c.until(fmt.Sprintf("turn %d has ended", turn), func(h history) bool {
		return len(all[events.TurnCompleted](h))+len(all[events.TurnFailed](h))+len(all[events.TurnInterrupted](h)) >= turn
	})
}

// all is every event of one type, in order.
func all[T events.Event](h history) []T {
	var list []T
	for _, c := range h.commits {
		for _, e := range c.Events {
			if found, ok := e.(T); ok {
				list = append(list, found)
			}
		}
	}
	return list
}

// finalText is the text of the newest answer.
func (h history) finalText() string {
	steps := all[events.StepCompleted](h)
	if len(steps) == 0 {
		return ""
	}
	return textOf(steps[len(steps)-1].Parts)
}

func (h history) String() string {
	var b strings.Builder
	for _, c := range h.commits {
		fmt.Fprintf(&b, "rev %d by %s %s:", c.Rev, c.Cause.Kind, c.Cause.ID)
		for _, e := range c.Events {
			fmt.Fprintf(&b, " %s", e.EventType())
			switch e := e.(type) {
			case events.StepFailed:
				fmt.Fprintf(&b, "(%s: %s)", e.Class, e.Message)
			case events.ToolCompleted:
				fmt.Fprintf(&b, "(%s: %.200s)", e.Status, textOf(e.Parts))
			default:
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
