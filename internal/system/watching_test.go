package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// rename makes commits, one each.
func (c *chat) rename(times int) {
	c.Helper()
	for n := range times {
		c.do(protocol.Rename{V: protocol.Version, Title: fmt.Sprint("title ", n)})
	}
}

// B43: what moves the cursor of a watcher is the place in the log and nothing else,
// so that whoever comes back goes on exactly where it was; a cursor that nobody
// knows leads to an explicit reset, never to silence.
func TestB43AWatcherThatComesBackGoesOnExactly(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	c := s.chat(t, answersWith("yes"))
	g.watch(c, "?after=0", "").commits(1)
	w := g.watch(c, "?after=1", "")
	progress := []byte(`{"call":"1.1.1","i":41,"text":"a control frame"}`)
	if err := s.nc.Publish(protocol.FeedProgressSubject(c.key), progress); err != nil {
		t.Fatal(err)
	}
	if f := w.must(); f.event != "progress" || f.id != "" || f.data != string(progress) {
		t.Errorf("got %+v", f)
	}
	c.rename(5)
	w.commits(2, 3, 4, 5, 6)
	if w.last != "6" {
		t.Errorf("the last id is %q", w.last)
	}
	w.drop()

	c.rename(2)
	w = g.watch(c, "", w.last)
	w.commits(7, 8)
	w.drop()

	g.halt()
	c.rename(1)
	g = s.startGateway()
	w = g.watch(c, "?after=3", w.last) // the header is newer than the address
	w.commits(9)
	w.drop()

	for _, unknown := range []string{"01K0000000000000000000000Z", "-1", "9.5", "progress-41"} {
		w := g.watch(c, "", unknown)
		w.begunAnew("unknown", 9)
	}
	w = g.watch(c, "", "10")
	w.begunAnew("ahead", 9)
	if p := g.problemOf(c, "?after=nine", ""); p.Code != problem.CodeBadRequest {
		t.Errorf("got %v", p)
	}

	w = g.watch(c, "", "9")
	c.rename(1)
	w.drop() // before it has read anything
	c.rename(1)
	w = g.watch(c, "", w.last)
	w.drop()
	c.rename(1)
	w = g.watch(c, "", w.last)
	w.commits(10, 11, 12)
	c.stillWorks()
}

// begunAnew checks that a reset and a snapshot come.
func (s *sseStream) begunAnew(why string, rev uint64) {
	s.Helper()
	if f := s.must(); f.event != "reset" || f.id != "" || !strings.Contains(f.data, fmt.Sprintf(`"why":%q`, why)) {
		s.Errorf("got %+v, want a reset because it is %s", f, why)
	}
	if f := s.must(); f.event != "snapshot" || f.id != fmt.Sprint(rev) || f.rev(s.T) != rev {
		s.Errorf("got %+v, want a snapshot at rev %d", f, rev)
	}
}

// answersWith is a model that says the same each time.
func answersWith(text string) model.Model {
	return asModel(func(context.Context, model.Request) iter.Seq2[model.Delta, error] {
		return answers(events.StopEnd, events.Text(text))
	})
}

// The feed forgets after a quarter of an hour, the log does not: whoever comes back
// after that misses nothing.
func TestAWatcherComesBackPastTheFeedsAge(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	c := s.chat(t, answersWith("yes"))
	w := g.watch(c, "?after=0", "")
	w.commits(1)
	w.drop()
	for range 5 {
		c.turn("go")
	}
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := js.Stream(t.Context(), streams.FeedStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := feed.CachedInfo().Config
	cfg.MaxAge = time.Second
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the feed has forgotten everything", func() bool {
		info, err := feed.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	})
	w = g.watch(c, "", w.last)
	for rev := 2; rev <= len(c.read().commits); rev++ {
		w.commits(uint64(rev))
	}
}

// paced is a model that says the pieces of an answer when it is told to.
type paced struct {
	pieces []string
	goOn   chan struct{} // once for each piece
	fails  atomic.Int32  // attempts that fail behind the first piece
}

func (m *paced) model() model.Model {
	return asModel(func(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
		fails := m.fails.Add(-1) >= 0
		return func(yield func(model.Delta, error) bool) {
			for _, piece := range m.pieces {
				select {
				case <-m.goOn:
				case <-ctx.Done():
					yield(model.Delta{}, ctx.Err())
					return
				}
				if !yield(model.Delta{Kind: model.DeltaText, Text: piece}, nil) {
					return
				}
				if fails {
					yield(model.Delta{}, &model.Error{Class: events.ClassOverloaded, Message: "too many people"})
					return
				}
			}
			answers(events.StopEnd, events.Text(strings.Join(m.pieces, "")))(yield)
		}
	})
}

// answer reads until as much of an answer was shown, or it is there as a whole; it
// reports whether it is. It checks that no piece is missing.
func (s *sseStream) answer(until string) (whole bool) {
	s.Helper()
	for s.shown != until {
		f := s.must()
		switch f.event {
		case "delta":
			d := f.delta(s.T)
			if d.I == 0 {
				s.shown, s.pieces = "", 0
			}
			if d.I != s.pieces {
				s.Fatalf("delta %d came, want %d", d.I, s.pieces)
			}
			s.shown, s.pieces = s.shown+d.Text, s.pieces+1
		case "commit":
			if strings.Contains(f.data, `"step.completed.v1"`) {
				return true
			}
		}
	}
	return false
}

func TestWhoJoinsInTheMiddleOfAnAnswerSeesItFromItsBeginning(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	m := &paced{pieces: []string{"one ", "two ", "three"}, goOn: make(chan struct{})}
	c := s.chat(t, m.model())
	first := g.watch(c, "?after=0", "")
	c.do(send("go"))
	m.goOn <- struct{}{}
	first.answer("one ")
	second := g.watch(c, "", "") // its gateway has heard the beginning
	second.answer("one ")
	third := s.startGateway().watch(c, "", "") // its gateway has not
	third.answer("one ")
	m.goOn <- struct{}{}
	for _, w := range []*sseStream{second, third} {
		w.answer("one two ")
	}
	first.drop()
	first = g.watch(c, "", first.last)
	first.answer("one two ")
	m.goOn <- struct{}{}
	if first.answer("one two three") {
		t.Errorf("before the whole answer %q was shown", first.shown)
	}
	c.stillWorksAfter(m)
}

func TestANewAttemptResetsWhatTheOldOneShowed(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	m := &paced{pieces: []string{"one ", "two"}, goOn: make(chan struct{})}
	m.fails.Store(1)
	c := s.chat(t, m.model())
	w := g.watch(c, "?after=0", "")
	c.do(send("go"))
	m.goOn <- struct{}{}
	w.answer("one ")
	m.goOn <- struct{}{} // the second attempt
	f := w.must()
	for ; f.event != "delta"; f = w.must() {
	}
	if d := f.delta(t); d.Attempt != 2 || d.I != 0 || d.Text != "one " {
		t.Errorf("the second attempt begins with %+v", d)
	}
	late := g.watch(c, "", "")
	if f := late.must(); f.event != "snapshot" {
		t.Errorf("got %+v", f)
	}
	if d := late.must().delta(t); d.Attempt != 2 || d.I != 0 {
		t.Errorf("who comes late is shown %+v", d)
	}
	m.goOn <- struct{}{}
	c.stillWorksAfter(m)
}

// stillWorksAfter lets the model answer without waiting, and ends with one more message.
func (c *chat) stillWorksAfter(m *paced) {
	c.Helper()
	close(m.goOn)
	c.ended(1)
	c.turn("and now?")
}

func TestWhoWatchesAChatThatIsErasedIsToldSo(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	c := s.chat(t, answersWith("yes"))
	w := g.watch(c, "?after=0", "")
	c.do(protocol.Erase{V: protocol.Version})
	var seen []string
	for {
		f, err := w.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		seen = append(seen, f.event)
		if f.event == "gone" && !strings.Contains(f.data, `"code":"erased"`) {
			t.Errorf("got %+v", f)
		}
	}
	if len(seen) == 0 || seen[len(seen)-1] != "gone" {
		t.Errorf("seen %v", seen)
	}
	for _, id := range []string{"", "1", "99", "x"} {
		if p := g.problemOf(c, "", id); p.Code != events.CodeErased || p.Status != http.StatusGone {
			t.Errorf("id %q: %+v", id, p)
		}
	}
	never := s.again(t, "never", answersWith("no"))
	if p := g.problemOf(never, "", ""); p.Status != http.StatusNotFound {
		t.Errorf("a chat that never was: %+v", p)
	}
}

// A gateway that ends sends its watchers away at once; they come back elsewhere.
func TestAGatewayThatEndsWaitsForNoWatcher(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	c := s.chat(t, answersWith("yes"))
	w := g.watch(c, "?after=0", "")
	w.commits(1)
	g.halt()
	if f, err := w.next(); err == nil {
		t.Errorf("got %+v", f)
	}
	c.rename(1)
	s.startGateway().watch(c, "", w.last).commits(2)
}

func TestManyWatchersOfOneChatSeeTheSame(t *testing.T) {
	t.Parallel()
	const many, turns = 100, 5
	s := running(t, options{})
	g := s.startGateway()
	c := s.chat(t, answersWith("a short answer"))
	all := make([]*sseStream, many)
	for n := range all {
		all[n] = g.watch(c, "?after=0", "")
	}
	for range turns {
		c.turn("go")
	}
	end := len(c.read().commits)
	var reading sync.WaitGroup
	for _, w := range all {
		reading.Go(func() {
			for rev := 1; rev <= end; {
				f, err := w.next()
				switch {
				case err != nil:
					t.Error(err)
					return
				case f.event == "commit" && f.id != fmt.Sprint(rev):
					t.Errorf("commit %s came, want %d", f.id, rev)
					return
				case f.event == "commit":
					rev++
				}
			}
		})
	}
	reading.Wait()
}
