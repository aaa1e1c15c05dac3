package watch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/watch"
)

func TestAHubThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, cfg := range []watch.Config{{}, {Feed: w}, {Chats: w}, {Feed: w, Chats: w, Watchers: -1}, {Feed: w, Chats: w, Silence: -1}} {
		if _, err := watch.New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func TestNobodyWaitsForEverForAHubThatDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h, err := watch.New(watch.Config{Feed: w, Chats: w})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := h.Open(ctx, ann, ""); !errors.Is(err, watch.ErrStopped) {
			t.Errorf("error %v, want that nothing can be watched here", err)
		}
	})
}

func TestWhoComesBeforeTheHubRunsWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.running(ann)
		h, err := watch.New(watch.Config{Feed: w, Chats: w})
		if err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		go func() {
			s, err := h.Open(t.Context(), ann, "3")
			if err == nil {
				s.Close()
			}
			opened <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		if err := <-opened; err != nil {
			t.Error(err)
		}
		if err := h.Run(ctx); err == nil {
			t.Error("it runs twice")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := h.Open(t.Context(), ann, "3"); !errors.Is(err, watch.ErrStopped) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestAHubThatEndsEndsItsWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.running(ann)
		h, err := watch.New(watch.Config{Feed: w, Chats: w})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := h.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		s := w.watch(h, ann, "3")
		said := make(chan string, 1)
		running.Go(func() { said <- s.next() })
		synctest.Wait()
		cancel()
		if got := <-said; got != watch.ErrStopped.Error() {
			t.Errorf("got %q", got)
		}
		running.Wait()
	})
}

func TestAWatcherThatIsClosedEndsItsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.hub(watch.Config{})
		w.running(ann)
		s := w.watch(h, ann, "3")
		said := make(chan string, 1)
		go func() { said <- s.next() }()
		synctest.Wait()
		s.w.Close()
		s.w.Close()
		if got := <-said; got != watch.ErrClosed.Error() {
			t.Errorf("got %q", got)
		}
		if n := h.Watchers(); n != 0 {
			t.Errorf("%d watchers", n)
		}
		w.say(ann, answered(1, 1, 1)) // nobody is there
		s.sees(watch.ErrClosed.Error())
	})
}

func TestAHubTakesSoManyWatchersAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.hub(watch.Config{Watchers: 2})
		w.running(ann)
		first := w.watch(h, ann, "")
		w.watch(h, ann, "")
		if _, err := h.Open(t.Context(), ann, ""); !errors.Is(err, watch.ErrFull) {
			t.Errorf("got %v", err)
		}
		first.w.Close()
		w.watch(h, ann, "").sees("snapshot 3")
	})
}

// Everything at once, and again: nothing hangs, nobody is left, for the race detector.
func TestWatchersComeAndGoWhileTheHubEnds(t *testing.T) {
	t.Parallel()
	const rounds, many = 20, 20
	for range rounds {
		w := newWorld(t)
		w.running(ann)
		h, err := watch.New(watch.Config{Feed: w, Chats: w})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := h.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		for n := range many {
			all.Go(func() {
				s, err := h.Open(t.Context(), ann, "")
				if err != nil {
					return
				}
				all.Go(func() {
					for err == nil {
						_, err = s.Next(t.Context())
					}
				})
				if n%2 == 0 {
					s.Close()
					return
				}
				w.speak(ann, 1, 1, 1, n)
				defer s.Close()
				<-ctx.Done()
			})
		}
		w.say(ann, events.ChatTitled{Title: "x"})
		cancel()
		all.Wait()
		if n := h.Watchers(); n != 0 {
			t.Errorf("%d watchers are left", n)
		}
	}
}
