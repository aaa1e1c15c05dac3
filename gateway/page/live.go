package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

const (
	// livePause is between two looks at a chat that changes.
	livePause = 50 * time.Millisecond

	// liveShare bounds how much of the time is spent on looks: a chat that takes long to
	// be read, or has many readers, is looked at more rarely, at least each liveRarest.
	liveShare  = 4
	liveRarest = 2 * time.Second

	// liveBytesPerSecond bounds how fast an answer that grows is sent again and again.
	liveBytesPerSecond = 512 << 10

	// livePing is between two signs of life. A browser that hears none for a while
	// connects anew: nobody else tells it that a network is gone.
	livePing = 10 * time.Second

	// liveWrite is how long one piece may take on its way.
	liveWrite = 30 * time.Second
)

// live goes on writing the page of a chat while the chat goes on. Each event has the
// rev as its id: whoever comes back with it is shown what has changed since.
func (p *Page) live(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	after, err := revOf(r)
	if err != nil {
		return err
	}
	window, err := p.window(r, k)
	if err != nil {
		return err
	}
	watcher, err := p.watch(r.Context(), k, after)
	if err != nil {
		return watchTrouble(err)
	}
	defer watcher.Close()
	s := &stream{page: p, key: k, window: window, rev: after, out: newOutlet(w)}
	if err := s.begin(r.Context()); err != nil {
		return err
	}
	s.follow(r.Context(), watcher)
	return nil
}

// revOf is the rev that a browser has seen: as the id of the last event it got, or as
// the page that it shows.
func revOf(r *http.Request) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	rev, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, trouble{Status: http.StatusBadRequest, Title: "This is no rev", Detail: "The stream begins behind a number."}
	}
	return rev, nil
}

// watchTrouble says why nobody can watch here now.
func watchTrouble(err error) error {
	if errors.Is(err, watch.ErrFull) || errors.Is(err, watch.ErrStopped) {
		return errors.Join(gateway.ErrUnavailable, err)
	}
	return err
}

// follow writes what happens until the browser goes, or has to come back.
func (s *stream) follow(ctx context.Context, watcher Watcher) {
	ctx, cancel := context.WithCancel(ctx)
	heard := make(chan watch.Event)
	ended := make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() { ended <- read(ctx, watcher, heard) })
	defer reading.Wait()
	defer cancel()

	look, ping := time.NewTimer(0), time.NewTicker(livePing)
	defer look.Stop()
	defer ping.Stop()
	waiting := true // for the next look
	for {
		var err error
		select {
		case e := <-heard:
			s.hear(e)
			if !waiting {
				waiting = true
				look.Reset(s.pause())
			}
		case <-look.C:
			waiting = false
			if err = s.flush(ctx); err == nil && s.stale {
				waiting = true
				look.Reset(time.Second) // nobody answered; what is shown stays until somebody does
			}
		case <-ping.C:
			err = s.out.send("ping", "", []byte("."))
		case err = <-ended:
			if gone, ok := errors.AsType[*protocol.RefusedError](err); ok {
				s.farewell(gone)
			}
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// read hands on what a watcher tells.
func read(ctx context.Context, watcher Watcher, heard chan<- watch.Event) error {
	for {
		e, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case heard <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause is how long to wait before the next look: longer, the more there is to send,
// and the longer the newest one took.
func (s *stream) pause() time.Duration {
	return livePause + time.Duration(s.attempt.bytes)*time.Second/liveBytesPerSecond + min((liveShare-1)*s.took, liveRarest)
}

// hear takes what a watcher tells. A commit is not folded here: how the chat stands
// is asked when it is shown.
func (s *stream) hear(e watch.Event) {
	s.newest = max(s.newest, e.Rev)
	switch e.Kind {
	case watch.KindReset:
		s.again, s.stale, s.newest = true, true, 0
	case watch.KindSnapshot, watch.KindCommit:
		s.stale = s.stale || s.newest > s.rev
	case watch.KindDelta:
		s.attempt.add(*e.Delta)
	case watch.KindProgress:
		if s.progress == nil {
			s.progress = make(map[events.CallID]string)
		}
		s.progress[e.Progress.Call] = e.Progress.Text
		s.told = true
	}
}
