package crash

import (
	"context"
	"strings"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// Orchestrator is the bus with points around all its effects.
func (p *Points) Orchestrator(b orchestrator.Bus) orchestrator.Bus {
	return orchestrator.Bus{
		Log:       eventLog{b.Log, p},
		Commands:  commands{b.Commands, p, &sync.Map{}},
		Work:      work{b.Work, p},
		Timers:    timers{b.Timers, p},
		Requests:  requests{b.Requests, p},
		Signals:   signals{b.Signals, p},
		Feed:      feed{b.Feed, p},
		Blobs:     blobs{b.Blobs, p},
		Tools:     registry{b.Tools, p},
		Snapshots: snapshots{b.Snapshots, p},
		Dead:      dead{b.Dead, p},
	}
}

type eventLog struct {
	orchestrator.Log
	points *Points
}

// Append implements [orchestrator.Log].
func (l eventLog) Append(ctx context.Context, a protocol.Append) (sequence uint64, err error) {
	err = l.points.around(a.Key, "append "+a.Types, func() error {
		sequence, err = l.Log.Append(ctx, a)
		return err
	})
	return sequence, err
}

// Delete implements [orchestrator.Log].
func (l eventLog) Delete(ctx context.Context, k events.Key, sequence uint64) error {
	return l.points.around(k, "delete commit", func() error { return l.Log.Delete(ctx, k, sequence) })
}

type commands struct {
	orchestrator.Commands
	points *Points
	chats  *sync.Map // the chat of each command that was taken, by its id: replies do not name it
}

// Fetch implements [orchestrator.Commands].
func (c commands) Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	taken, err := c.Commands.Fetch(ctx, limit)
	for _, d := range taken {
		k, _ := subjectOf("command", d)
		c.chats.Store(d.Header(protocol.HeaderID), k)
	}
	return c.points.take("command", taken), err
}

// Delete implements [orchestrator.Commands].
func (c commands) Delete(ctx context.Context, sequence uint64) error {
	return c.points.around(events.Key{}, "delete command", func() error { return c.Commands.Delete(ctx, sequence) })
}

// Reply implements [orchestrator.Commands].
func (c commands) Reply(ctx context.Context, tenant string, r protocol.Reply) error {
	known, _ := c.chats.Load(r.ID)
	k, _ := known.(events.Key)
	return c.points.around(k, "reply", func() error { return c.Commands.Reply(ctx, tenant, r) })
}

type work struct {
	orchestrator.Work
	points *Points
}

// Put implements [orchestrator.Work].
func (w work) Put(ctx context.Context, item protocol.Work) (stored bool, err error) {
	err = w.points.around(item.Key(), "put work "+workKind(item), func() error {
		stored, err = w.Work.Put(ctx, item)
		return err
	})
	return stored, err
}

// workKind is the kind of work; of a word between chats, which one.
func workKind(w protocol.Work) string {
	if word, ok := w.(protocol.ChatWork); ok {
		return word.Kind() + " " + string(word.What)
	}
	return w.Kind()
}

// FetchModel implements [orchestrator.Work].
func (w work) FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error) {
	taken, err := w.Work.FetchModel(ctx, pool, limit)
	return w.points.take("model", taken), err
}

// FetchChat implements [orchestrator.Work].
func (w work) FetchChat(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	taken, err := w.Work.FetchChat(ctx, limit)
	return w.points.take("word", taken), err
}

// Delete implements [orchestrator.Work].
func (w work) Delete(ctx context.Context, k events.Key) error {
	return w.points.around(k, "delete work", func() error { return w.Work.Delete(ctx, k) })
}

type timers struct {
	orchestrator.Timers
	points *Points
}

// Set implements [orchestrator.Timers].
func (t timers) Set(ctx context.Context, timer protocol.Timer) error {
	return t.points.around(timer.Key(), "set timer "+purpose(timer.Name), func() error { return t.Timers.Set(ctx, timer) })
}

// FetchDue implements [orchestrator.Timers].
func (t timers) FetchDue(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	taken, err := t.Timers.FetchDue(ctx, limit)
	return t.points.take("timer", taken), err
}

// purpose is what a timer is for, without what it belongs to.
func purpose(name string) string {
	first, _, _ := strings.Cut(name, "-")
	return first
}

type requests struct {
	orchestrator.Requests
	points *Points
}

// Serve implements [orchestrator.Requests].
func (r requests) Serve(ctx context.Context, h protocol.Handlers) error {
	return r.Requests.Serve(ctx, protocol.Handlers{
		Claim:    r.points.heard("claim", h.Claim),
		Result:   r.points.heard("result", h.Result),
		Ask:      r.points.heard("ask", h.Ask),
		Upload:   r.points.heard("upload", h.Upload),
		Download: r.points.heard("download", h.Download),
		Offer: func(ctx context.Context, group string, q protocol.Request) {
			r.points.pass(events.Key{}, "after hearing offer")
			h.Offer(ctx, group, request{Request: q, points: r.points, what: "offer"})
		},
	})
}

type signals struct {
	orchestrator.Signals
	points *Points
}

// Stop implements [orchestrator.Signals].
func (s signals) Stop(ctx context.Context, k events.Key, stop protocol.Stop) error {
	return s.points.around(k, "stop", func() error { return s.Signals.Stop(ctx, k, stop) })
}

type feed struct {
	orchestrator.Feed
	points *Points
}

// Delta implements [orchestrator.Feed].
func (f feed) Delta(ctx context.Context, k events.Key, d protocol.Delta) error {
	return f.points.around(k, "delta", func() error { return f.Feed.Delta(ctx, k, d) })
}

type blobs struct {
	orchestrator.Blobs
	points *Points
}

// Put implements [orchestrator.Blobs].
func (b blobs) Put(ctx context.Context, k events.Key, d events.Digest, content []byte) error {
	return b.points.around(k, "put blob", func() error { return b.Blobs.Put(ctx, k, d, content) })
}

// Delete implements [orchestrator.Blobs].
func (b blobs) Delete(ctx context.Context, k events.Key, d events.Digest) error {
	return b.points.around(k, "delete blob", func() error { return b.Blobs.Delete(ctx, k, d) })
}

type registry struct {
	orchestrator.Tools
	points *Points
}

// Keep implements [orchestrator.Tools].
func (r registry) Keep(ctx context.Context, m protocol.Manifest) error {
	return r.points.around(events.Key{}, "keep manifest", func() error { return r.Tools.Keep(ctx, m) })
}

// Offer implements [orchestrator.Tools].
func (r registry) Offer(ctx context.Context, e protocol.ToolEntry) error {
	return r.points.around(events.Key{}, "enter tool", func() error { return r.Tools.Offer(ctx, e) })
}

type snapshots struct {
	orchestrator.Snapshots
	points *Points
}

// Put implements [orchestrator.Snapshots].
func (s snapshots) Put(ctx context.Context, k events.Key, version int, content []byte) error {
	return s.points.around(k, "put snapshot", func() error { return s.Snapshots.Put(ctx, k, version, content) })
}

// Delete implements [orchestrator.Snapshots].
func (s snapshots) Delete(ctx context.Context, k events.Key) error {
	return s.points.around(k, "delete snapshots", func() error { return s.Snapshots.Delete(ctx, k) })
}

type dead struct {
	orchestrator.Dead
	points *Points
}

// Put implements [orchestrator.Dead].
func (d dead) Put(ctx context.Context, k events.Key, m protocol.Stored, command, why string) error {
	return d.points.around(k, "put dead letter", func() error { return d.Dead.Put(ctx, k, m, command, why) })
}

// Note implements [orchestrator.Dead].
func (d dead) Note(ctx context.Context, k events.Key, command string) (tries int, err error) {
	err = d.points.around(k, "note try", func() error {
		tries, err = d.Dead.Note(ctx, k, command)
		return err
	})
	return tries, err
}

// Forgive implements [orchestrator.Dead].
func (d dead) Forgive(ctx context.Context, k events.Key, command string) error {
	return d.points.around(k, "forgive try", func() error { return d.Dead.Forgive(ctx, k, command) })
}

// Delete implements [orchestrator.Dead].
func (d dead) Delete(ctx context.Context, k events.Key) error {
	return d.points.around(k, "delete dead letters", func() error { return d.Dead.Delete(ctx, k) })
}
