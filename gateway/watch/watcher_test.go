package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

func TestAWatcher(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(w *world, h *watch.Hub)
	}{
		{"without a cursor begins with a snapshot and goes on behind it", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "")
			s.sees("snapshot 3")
			w.say(ann, answered(1, 1, 1), ended(1))
			s.sees("commit 4")
		}},
		{"with a cursor gets what came behind it, from the log", func(w *world, h *watch.Hub) {
			w.running(ann)
			w.watch(h, ann, "0").sees("commit 1", "commit 2", "commit 3")
			w.watch(h, ann, "2").sees("commit 3")
			w.watch(h, ann, "3").seesNothing()
		}},
		{"whose cursor is beyond the chat begins anew and is told why", func(w *world, h *watch.Hub) {
			w.running(ann)
			w.watch(h, ann, "4").sees("reset ahead", "snapshot 3")
			w.watch(h, ann, "18446744073709551615").sees("reset ahead", "snapshot 3")
		}},
		{"whose cursor is none begins anew and is told why", func(w *world, h *watch.Hub) {
			w.running(ann)
			for _, cursor := range []string{"-1", "x", "3.0", "1e9", " 3", "18446744073709551616", "01K…"} {
				w.watch(h, ann, cursor).sees("reset unknown", "snapshot 3")
			}
		}},
		{"gets what the feed has lost, once and in order", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.store(ann, events.ChatTitled{Title: "lost"})
			w.store(ann, events.ChatTitled{Title: "lost"})
			w.say(ann, events.ChatTitled{Title: "heard"})
			s.sees("commit 4", "commit 5", "commit 6")
			s.seesNothing()
		}},
		{"gets what came twice once", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			body := w.store(ann, events.ChatTitled{Title: "x"})
			w.tell(ann, protocol.FeedCommit, body)
			w.tell(ann, protocol.FeedCommit, body)
			s.sees("commit 4")
			s.seesNothing()
		}},
		{"gets the end of an open turn that the feed has lost", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			s.seesNothing()
			w.store(ann, answered(1, 1, 1), ended(1))
			s.sees("commit 4")
		}},
		{"asks nothing while no turn is open", func(w *world, h *watch.Hub) {
			w.say(ann, events.ChatCreated{})
			s := w.watch(h, ann, "1")
			s.seesNothing()
			before := w.questions("chat")
			<-time.After(time.Hour)
			s.seesNothing()
			if after := w.questions("chat"); after != before {
				w.Errorf("the head was asked for %d times", after-before)
			}
		}},
		{"gets what was lost while the connection was away", func(w *world, h *watch.Hub) {
			w.say(ann, events.ChatCreated{})
			s := w.watch(h, ann, "1")
			s.seesNothing()
			w.store(ann, events.ChatTitled{Title: "x"})
			s.seesNothing() // nobody can know
			w.gap()
			s.sees("commit 2")
		}},
		{"that joins in the middle of an answer gets it from its beginning", func(w *world, h *watch.Hub) {
			w.running(ann)
			w.keep(ann, 1, 1, 1, 0)
			w.keep(ann, 1, 1, 1, 1)
			s := w.watch(h, ann, "")
			w.speak(ann, 1, 1, 1, 2)
			s.sees("snapshot 3", "1.1#1:0", "1.1#1:1", "1.1#1:2")
			w.watch(h, ann, "1").sees("commit 2", "commit 3", "1.1#1:0", "1.1#1:1", "1.1#1:2")
			if n := w.questions("deltas"); n > 1 {
				w.Errorf("the feed was read %d times for one attempt", n)
			}
			w.speak(ann, 1, 1, 1, 3)
			s.sees("1.1#1:3")
		}},
		{"gets deltas that the feed has lost, and none twice", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.speak(ann, 1, 1, 1, 0)
			s.sees("1.1#1:0")
			w.keep(ann, 1, 1, 1, 1)
			w.speak(ann, 1, 1, 1, 2)
			w.speak(ann, 1, 1, 1, 2)
			s.sees("1.1#1:1", "1.1#1:2")
			s.seesNothing()
		}},
		{"gets deltas that came before the commit that requests them behind it", func(w *world, h *watch.Hub) {
			w.say(ann, events.ChatCreated{})
			w.say(ann, said("a"), started(1, "a"))
			s := w.watch(h, ann, "2")
			w.speak(ann, 1, 1, 1, 0)
			s.seesNothing()
			w.say(ann, asked(1, 1, 1))
			s.sees("commit 3", "1.1#1:0")
		}},
		{"gets what is left of an answer before the commit that closes it", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.speak(ann, 1, 1, 1, 0)
			w.speak(ann, 1, 1, 1, 1)
			w.say(ann, answered(1, 1, 1), ended(1))
			s.sees("1.1#1:0", "1.1#1:1", "commit 4")
			w.speak(ann, 1, 1, 1, 2) // too late
			s.seesNothing()
		}},
		{"sees a new attempt begin anew", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.speak(ann, 1, 1, 1, 0)
			w.say(ann, failed(1, 1, 1))
			w.say(ann, asked(1, 1, 2))
			w.speak(ann, 1, 1, 2, 0)
			w.speak(ann, 1, 1, 1, 1) // of a worker that does not know yet
			w.speak(ann, 1, 1, 2, 1)
			s.sees("1.1#1:0", "commit 4", "commit 5", "1.1#2:0", "1.1#2:1")
			s.seesNothing()
			w.watch(h, ann, "").sees("snapshot 5", "1.1#2:0", "1.1#2:1")
		}},
		{"gets no deltas of what nobody reads", func(w *world, h *watch.Hub) {
			w.say(ann, events.ChatCreated{})
			s := w.watch(h, ann, "1")
			w.say(ann, events.StepRequested{Step: events.StepID{Step: 1}, Purpose: events.PurposeTitle, Attempt: 1, Model: "small"})
			w.speak(ann, 0, 1, 1, 0)
			s.sees("commit 2")
			s.seesNothing()
		}},
		{"of an answer whose beginning nobody has sees its commit", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "")
			w.speak(ann, 1, 1, 1, 7)
			s.sees("snapshot 3")
			s.seesNothing()
			w.say(ann, answered(1, 1, 1), ended(1))
			s.sees("commit 4")
		}},
		{"hears the progress of tools", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.tell(ann, protocol.FeedProgress, []byte(`{"call":"1.1.1","i":0,"text":"half"}`))
			s.sees("progress half")
		}},
		{"hears nothing of other chats", func(w *world, h *watch.Hub) {
			w.running(ann)
			w.running(events.Key{Tenant: "other", Chat: ann.Chat})
			s := w.watch(h, ann, "3")
			w.say(events.Key{Tenant: "other", Chat: ann.Chat}, answered(1, 1, 1))
			w.say(events.Key{Tenant: ann.Tenant, Chat: "bob"}, events.ChatCreated{})
			s.seesNothing()
		}},
		{"is not disturbed by what cannot be read", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.tell(ann, protocol.FeedCommit, []byte("{"))
			w.tell(ann, protocol.FeedDelta, []byte("{"))
			w.tell(ann, protocol.FeedProgress, []byte("{"))
			w.tell(ann, "later", []byte("{"))
			s.seesNothing()
			w.say(ann, answered(1, 1, 1))
			s.sees("commit 4")
		}},
		{"gets what a newer release wrote as it is stored", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			body := fmt.Sprintf(`{"v":99,"tenant":"acme","chat":"ann","rev":4,"prev":%q,"news":true}`, events.Hash(w.log[ann][2].Body))
			w.log[ann] = append(w.log[ann], protocol.Stored{Sequence: 40, Body: []byte(body)})
			w.tell(ann, protocol.FeedCommit, []byte(body))
			e, err := s.w.Next(w.Context())
			if err != nil || e.Rev != 4 || e.Commit != nil || string(e.Data) != body {
				w.Errorf("got %+v, %v", e, err)
			}
		}},
		{"of a chat that is erased meanwhile sees that, and then no more", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.say(ann, events.ChatErased{})
			s.sees("commit 4", "erased: the chat was erased")
		}},
		{"of a chat that was erased while nobody listened is told so", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			w.store(ann, events.ChatErased{})
			w.gap()
			if got := s.next(); !strings.HasPrefix(got, "erased: ") {
				w.Errorf("got %q", got)
			}
			for _, cursor := range []string{"", "3", "9", "x"} {
				_, err := h.Open(w.Context(), ann, cursor)
				if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeErased {
					w.Errorf("cursor %q: %v", cursor, err)
				}
			}
		}},
		{"of a log that was replaced by an older one begins anew", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "3")
			s.seesNothing()
			w.mu.Lock()
			w.log[ann] = w.log[ann][:2]
			w.mu.Unlock()
			w.gap()
			s.sees("reset replaced", "snapshot 2")
			w.say(ann, asked(1, 1, 1))
			s.sees("commit 3")
		}},
		{"of a log that was replaced and has grown since begins anew", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "2")
			s.sees("commit 3")
			w.mu.Lock()
			w.log[ann] = w.log[ann][:2]
			w.mu.Unlock()
			w.restartProjections()
			w.store(ann, events.ChatTitled{Title: "other"})
			w.say(ann, events.ChatTitled{Title: "another"})
			s.sees("reset replaced", "snapshot 4")
		}},
		{"of a long chat gets all pages, as of one moment", func(w *world, h *watch.Hub) {
			w.say(ann, events.ChatCreated{})
			const turns = 120
			for turn := 1; turn <= turns; turn++ {
				input := fmt.Sprint("input", turn)
				w.say(ann, said(input), started(turn, input), asked(turn, 1, 1))
				w.say(ann, answered(turn, 1, 1), ended(turn))
			}
			s := w.watch(h, ann, "")
			rev, messages := uint64(2*turns+1), 0
			for last := false; !last; {
				e, err := s.w.Next(w.Context())
				if err != nil || e.Snapshot == nil {
					w.Fatalf("got %+v, %v", e, err)
				}
				w.say(ann, events.ChatTitled{Title: "x"}) // the next page is not moved by it
				messages += len(e.Snapshot.Messages)
				last = e.Snapshot.Next == 0
				if e.Snapshot.Head.Rev != rev || last != (e.Rev == rev) {
					w.Errorf("a page as of rev %d moves the cursor to %d; want %d on the last", e.Snapshot.Head.Rev, e.Rev, rev)
				}
				if !last && s.w.Cursor() != "" {
					w.Errorf("in the middle of a snapshot the cursor is %q", s.w.Cursor())
				}
			}
			if messages != 2*turns {
				w.Errorf("%d messages, want %d", messages, 2*turns)
			}
			s.sees(fmt.Sprint("commit ", rev+1), fmt.Sprint("commit ", rev+2))
		}},
		{"waits while nobody answers, and goes on", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "1")
			w.silence(true)
			s.seesNothing()
			<-time.After(10 * time.Second)
			s.seesNothing()
			w.silence(false)
			s.sees("commit 2", "commit 3")
		}},
		{"gives up when nobody answers for long", func(w *world, h *watch.Hub) {
			w.running(ann)
			s := w.watch(h, ann, "1")
			w.silence(true)
			if got := s.next(); !strings.HasPrefix(got, watch.ErrUnanswered.Error()) {
				w.Errorf("got %q", got)
			}
			if got := s.w.Cursor(); got != "1" {
				w.Errorf("the cursor is %q", got)
			}
		}},
		{"of no chat is refused", func(w *world, h *watch.Hub) {
			for _, cursor := range []string{"", "0", "1", "x"} {
				_, err := h.Open(w.Context(), ann, cursor)
				if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeUnknownChat {
					w.Errorf("cursor %q: %v", cursor, err)
				}
			}
			_, err := h.Open(w.Context(), events.Key{Tenant: "acme", Chat: "*"}, "")
			if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeBadCommand {
				w.Errorf("got %v", err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				tt.run(w, w.hub(watch.Config{}))
			})
		})
	}
}

// One that is too slow is dropped with its cursor; the others notice nothing.
func TestASlowWatcherIsDropped(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]string{
		"for the number of events": "x",
		"for their bytes":          strings.Repeat("x", 100<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				h := w.hub(watch.Config{})
				w.say(ann, events.ChatCreated{})
				slow, quick := w.watch(h, ann, "1"), w.watch(h, ann, "1")
				slow.seesNothing()
				for rev := 2; rev < watch.MaxBehindEvents+10; rev++ {
					w.say(ann, events.ChatTitled{Title: title})
					quick.sees(fmt.Sprint("commit ", rev))
					if len(title)*rev > 4*watch.MaxBehindBytes {
						break
					}
				}
				slow.sees(watch.ErrLagged.Error(), watch.ErrLagged.Error())
				w.watch(h, ann, slow.w.Cursor()).sees("commit 2", "commit 3")
			})
		})
	}
}

// One that reads the log itself may take its time: nothing is kept for it.
func TestAWatcherThatCatchesUpIsNotDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.hub(watch.Config{})
		w.say(ann, events.ChatCreated{})
		for range 99 {
			w.say(ann, events.ChatTitled{Title: "x"})
		}
		s := w.watch(h, ann, "0")
		s.sees("commit 1")
		for range 2 * watch.MaxBehindEvents {
			w.say(ann, events.ChatTitled{Title: "x"})
		}
		for rev := 2; rev <= 100+2*watch.MaxBehindEvents; rev++ {
			s.sees(fmt.Sprint("commit ", rev))
		}
		s.seesNothing()
	})
}

// However many watch a chat, it is asked after by one of them.
func TestAChatIsAskedAfterOnceForAllItsWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.hub(watch.Config{})
		w.running(ann)
		const many = 200
		seen := make(chan string, many)
		for range many {
			s := w.watch(h, ann, "3")
			go func() { seen <- s.next() }()
		}
		synctest.Wait()
		before := w.questions("chat")
		w.store(ann, events.ChatTitled{Title: "x"})
		w.gap()
		for range many {
			if got := <-seen; got != "commit 4" {
				t.Errorf("got %q", got)
			}
		}
		if n := w.questions("chat") - before; n != 1 {
			t.Errorf("the head was asked for %d times", n)
		}
	})
}

// If the one that asks leaves, another asks.
func TestAQuestionIsTakenOverFromOneThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.hub(watch.Config{Questions: 1})
		w.running(ann)
		s, other := w.watch(h, ann, "3"), w.watch(h, ann, "3")
		w.silence(true)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if e, err := s.w.Next(ctx); err == nil {
			t.Fatalf("got %q", short(e))
		}
		w.store(ann, answered(1, 1, 1), ended(1))
		w.silence(false)
		other.sees("commit 4")
	})
}
