package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// stream is what one browser shows of a chat, and what it has to be told.
type stream struct {
	page   *Page
	key    events.Key
	window int
	out    outlet

	rev     uint64        // that the browser shows
	newest  uint64        // that is known of
	stale   bool          // the chat has changed since
	again   bool          // what the browser shows does not count any more
	told    bool          // a tool has said something
	took    time.Duration // by the newest look
	view    view
	attempt attempt

	progress map[events.CallID]string
	order    []string            // of the items that the browser shows
	sums     map[string][32]byte // of everything that it shows
}

// begin finds out what a browser shows that has seen a rev, and brings it up to date.
func (s *stream) begin(ctx context.Context) error {
	window := s.window
	t, err := s.read(ctx, 0)
	if err != nil {
		return err
	}
	current := t.Rev == s.rev && window == s.window
	s.rev, s.newest, s.view = t.Rev, t.Rev, viewFrom(t, s.window, nil)
	s.sums = make(map[string][32]byte)
	var b bytes.Buffer
	if err := s.diff(&b); err != nil {
		return err
	}
	b.Reset()
	if !current { // else its page shows all of this
		if err := s.whole(&b); err != nil {
			return err
		}
	}
	if err := s.liveAnswer(&b); err != nil {
		return err
	}
	s.out.start()
	return s.out.send("", strconv.FormatUint(s.rev, 10), b.Bytes())
}

// read is what the browser is to show, at least as of a rev. A chat that has grown too
// long for a page loses what is oldest there, a half at once.
func (s *stream) read(ctx context.Context, minRev uint64) (transcript.Page, error) {
	t, err := s.page.transcript(ctx, s.key, s.window, transcript.Point{}, minRev)
	if err != nil || t.MessageCount-s.window <= showMost {
		return t, err
	}
	s.window = t.MessageCount - showMost/2
	return s.page.transcript(ctx, s.key, s.window, transcript.Point{}, minRev)
}

// flush shows what has changed.
func (s *stream) flush(ctx context.Context) error {
	begun := time.Now()
	defer func() { s.took = time.Since(begun) }()
	if s.stale {
		t, err := s.read(ctx, s.newest)
		if no, ok := errors.AsType[*protocol.RefusedError](err); ok && no.Code != events.CodeUnavailable {
			s.farewell(no)
			return err
		}
		if err != nil {
			return ctx.Err() // nobody answers: the browser goes on showing what it does
		}
		s.stale = t.Rev < s.newest
		s.rev, s.told = t.Rev, true
		s.view = viewFrom(t, s.window, s.progress)
	} else if s.told {
		s.view.refresh(s.progress)
	}
	var b bytes.Buffer
	id := ""
	if s.told {
		id = strconv.FormatUint(s.rev, 10)
		write := s.diff
		if s.again {
			write = s.whole
		}
		if err := write(&b); err != nil {
			return err
		}
		s.told, s.again = false, false
	}
	if err := s.liveAnswer(&b); err != nil {
		return err
	}
	if b.Len() == 0 && id == "" {
		return nil
	}
	return s.out.send("", id, b.Bytes())
}

// panels are the pieces beside the conversation, each of which is replaced as a whole.
func (s *stream) panels() []fragment {
	return []fragment{
		{"head", "chat-head", s.view},
		{"earlier", "earlier", s.view},
		{"now", "now", s.view.Now},
		{"queue", "queue", s.view},
		{"side", "side", s.view.Side},
		{"composer-state", "composer-state", s.view},
	}
}

// fragment is a piece of the page: its id, its template and its data.
type fragment struct {
	id, template string
	data         any
}

// diff writes what has changed since it was called last.
func (s *stream) diff(b *bytes.Buffer) error {
	order := make([]string, len(s.view.Items))
	for i := range s.view.Items {
		order[i] = s.view.Items[i].ID
	}
	if !grows(s.order, order) {
		return s.whole(b)
	}
	for i := range s.view.Items {
		target, swap := "#"+order[i], "outerMorph"
		if i >= len(s.order) {
			target, swap = "#messages", "beforeend"
		}
		if err := s.put(b, fragment{order[i], "item", s.view.Items[i]}, target, swap); err != nil {
			return err
		}
	}
	s.order = order
	return s.putPanels(b)
}

func (s *stream) putPanels(b *bytes.Buffer) error {
	for _, f := range s.panels() {
		if err := s.put(b, f, "#"+f.id, "innerMorph"); err != nil {
			return err
		}
	}
	return nil
}

// grows reports whether an order goes on from another one.
func grows(before, now []string) bool {
	if len(before) > len(now) {
		return false
	}
	for i, id := range before {
		if now[i] != id {
			return false
		}
	}
	return true
}

// put writes a piece unless the browser shows it as it is.
func (s *stream) put(b *bytes.Buffer, f fragment, target, swap string) error {
	html, err := s.page.render(f.template, f.data)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(html)
	if s.sums[f.id] == sum {
		return nil
	}
	s.sums[f.id] = sum
	partial(b, target, swap, html)
	return nil
}

// whole writes everything.
func (s *stream) whole(b *bytes.Buffer) error {
	s.order, s.sums = nil, make(map[string][32]byte)
	var all, one bytes.Buffer
	for i := range s.view.Items {
		item := s.view.Items[i]
		html, err := s.page.render("item", item)
		if err != nil {
			return err
		}
		all.Write(html)
		s.sums[item.ID], s.order = sha256.Sum256(html), append(s.order, item.ID)
	}
	partial(b, "#messages", "innerMorph", all.Bytes())
	if err := s.putPanels(&one); err != nil {
		return err
	}
	b.Write(one.Bytes())
	return nil
}

// partial is a piece of HTML that htmx puts where target says.
func partial(b *bytes.Buffer, target, swap string, html []byte) {
	fmt.Fprintf(b, "<hx-partial hx-target=%q hx-swap=%q>", target, swap)
	b.Write(html)
	b.WriteString("</hx-partial>")
}

// liveAnswer writes the answer that comes just now, as far as it has come.
func (s *stream) liveAnswer(b *bytes.Buffer) error {
	shown := s.attempt.shown(s.view)
	html, err := s.page.render("live", shown)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(html); s.sums["live"] != sum {
		s.sums["live"] = sum
		partial(b, "#live", "innerMorph", html)
	}
	return nil
}

// farewell says why there is nothing more to see.
func (s *stream) farewell(no *protocol.RefusedError) {
	t := trouble{Title: title(no.Code), Detail: no.Detail, Code: no.Code}
	if html, err := s.page.render("notice", t); err == nil {
		_ = s.out.send("", "", html) // who has gone away needs no farewell
	}
	_ = s.out.send("over", "", []byte("."))
}

// outlet writes server-sent events.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newOutlet(w http.ResponseWriter) outlet {
	return outlet{w: w, control: http.NewResponseController(w)}
}

func (o outlet) start() {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy that waits for more would wait for ever
	o.w.WriteHeader(http.StatusOK)
}

// send writes one event, and waits until it is on its way.
func (o outlet) send(name, id string, data []byte) error {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(bytes.ReplaceAll(line, []byte("\r"), []byte("&#13;")))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if err := o.control.SetWriteDeadline(time.Now().Add(liveWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := o.w.Write(b.Bytes()); err != nil {
		return err
	}
	return o.control.Flush()
}
