package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol/transcript"
)

// kinEach is how often who watches a chat looks what waits in those that work for it:
// what happens there is not seen here.
const kinEach = 2 * time.Second

// kin are the chats that work for one that is watched.
type kin struct {
	client *client.Client
	chat   string
	wait   time.Duration // for an answer
	each   time.Duration // kinEach if 0

	due  time.Time // when to look; zero: not said yet
	open map[events.CallID]bool
	told map[kinCall]bool
}

// kinCall is a call in one of them.
type kinCall struct {
	chat string
	call events.CallID
}

// see notes which calls others work for.
func (k *kin) see(s client.Sight) {
	if s.Commit == nil {
		return
	}
	for _, e := range s.Commit.Events {
		if e, ok := e.(events.ChildSpawned); ok {
			k.opened(e.Call)
		}
		if e, ok := e.(events.ChildEnded); ok {
			delete(k.open, e.Call)
		}
	}
}

func (k *kin) opened(call events.CallID) {
	if k.open == nil {
		k.open = make(map[events.CallID]bool)
	}
	k.open[call] = true
}

// soon is when to look; nil while nobody works for the chat.
func (k *kin) soon() <-chan time.Time {
	if len(k.open) == 0 {
		return nil
	}
	return time.After(time.Until(k.next()))
}

// next is when to look next.
func (k *kin) next() time.Time {
	if k.due.IsZero() {
		k.due = time.Now().Add(cmp.Or(k.each, kinEach))
	}
	return k.due
}

// look gives the calls that wait for somebody in those chats and were not told yet.
// Whoever cannot look now looks again.
func (k *kin) look(ctx context.Context) []transcript.Awaited {
	k.due = time.Time{}
	ctx, cancel := context.WithTimeout(ctx, k.wait)
	defer cancel()
	head, err := k.client.Head(ctx, k.chat)
	if err != nil {
		return nil
	}
	var list []transcript.Awaited
	for _, child := range head.Children {
		k.opened(child.Call)
		for _, a := range child.Awaits {
			at := kinCall{a.Chat, a.Call}
			if k.told[at] {
				continue
			}
			if k.told == nil {
				k.told = make(map[kinCall]bool)
			}
			k.told[at] = true
			list = append(list, a)
		}
	}
	return list
}

// watch waits for what happens next in the chat, and shows meanwhile what waits in
// those that work for it.
func (k *kin) watch(ctx context.Context, w *client.Watcher, view viewer) (client.Sight, error) {
	for {
		one, cancel := ctx, func() {}
		if len(k.open) > 0 {
			one, cancel = context.WithDeadline(ctx, k.next())
		}
		sight, err := w.Next(one)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			view.awaits(k.look(ctx))
			continue
		}
		k.see(sight)
		return sight, err
	}
}

// awaits implements [viewer].
func (v jsonView) awaits(list []transcript.Awaited) {
	if len(list) > 0 {
		_ = v.out.Encode(struct { // nobody is left to tell
			Awaits []transcript.Awaited `json:"awaits"`
		}{list})
	}
}

// awaits implements [viewer].
func (v *liveView) awaits(list []transcript.Awaited) {
	for _, a := range list {
		v.line()
		v.printf("… in chat %s, %s\n", a.Chat, projections.AwaitedLine(a))
		if q := a.Question; q != nil {
			(&liveView{out: v.out}).question(events.QuestionAsked{
				Call: a.Call, Questions: q.Questions, Due: q.Due, TimeoutMS: max(0, time.Until(q.Due.Time()).Truncate(time.Second).Milliseconds()),
			})
		}
	}
}
