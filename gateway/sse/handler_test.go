package sse_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/gateway/sse"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

func TestOnlyWhatIsInTheLogHasAnID(t *testing.T) {
	t.Parallel()
	s := newHouse(t, sse.Handler{})
	stored := s.store(1, 1)
	answer := s.get("acme", "?after=0")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	body := bufio.NewReader(answer.Body)
	s.lines(body, "id: 1", "event: commit", "data: "+string(stored[0]), "")
	body = bufio.NewReader(s.get("acme", "?after=1").Body) // progress is for those who have come to the end
	s.tell(protocol.FeedProgress, []byte("{\"call\":\"1.1.1\",\r\n\"i\":1,\r\"text\":\n\"x\"}"))
	s.lines(body, "event: progress", `data: {"call":"1.1.1",`, `data: "i":1,`, `data: "text":`, `data: "x"}`, "")
}

func TestASilentConnectionIsKeptAlive(t *testing.T) {
	t.Parallel()
	s := newHouse(t, sse.Handler{KeepAlive: time.Millisecond})
	s.store(1, 1)
	body := bufio.NewReader(s.get("acme", "?after=1").Body)
	s.lines(body, ": here", "", ": here", "")
}

func TestWhoIsGivenNoEventsIsToldWhy(t *testing.T) {
	t.Parallel()
	s := newHouse(t, sse.Handler{})
	for _, tt := range []struct {
		tenant, query string
		code          events.Code
	}{
		{"", "", problem.CodeUnauthorized},
		{"acme", "", events.CodeUnknownChat},
		{"other", "?after=0", events.CodeUnknownChat},
		{"acme", "?after=-1", problem.CodeBadRequest},
		{"acme", "?after=1e3", problem.CodeBadRequest},
	} {
		answer := s.get(tt.tenant, tt.query)
		var p problem.Problem
		if err := json.NewDecoder(answer.Body).Decode(&p); err != nil || p.Code != tt.code || answer.StatusCode != p.Status {
			t.Errorf("tenant %q, %q: status %d, %v, %v; want %s", tt.tenant, tt.query, answer.StatusCode, p, err, tt.code)
		}
	}
}

// A reader that stands still is dropped when one event was not taken in time, and
// what was kept for it is let go of.
func TestAReaderThatStandsStillIsDropped(t *testing.T) {
	t.Parallel()
	s := newHouse(t, sse.Handler{WriteTimeout: 100 * time.Millisecond})
	s.store(400, 64<<10)
	s.stuck("?after=0")
	s.eventually("it watches", func() bool { return s.hub.Watchers() == 1 })
	s.eventually("it is dropped", func() bool { return s.hub.Watchers() == 0 })
}

// One that is too slow to be told everything is told that, and comes back.
func TestAReaderThatFallsBehindIsTold(t *testing.T) {
	t.Parallel()
	s := newHouse(t, sse.Handler{WriteTimeout: patience})
	s.store(1, 1)
	conn := s.stuck("?after=1")
	s.eventually("it watches", func() bool { return s.hub.Watchers() == 1 })
	const more, bytes = 400, 64 << 10
	s.say(more, bytes)
	all, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if !strings.Contains(string(all), "event: lagged\n") {
		t.Errorf("it was not told: %d bytes end with %q", len(all), all[max(0, len(all)-200):])
	}
}

// Whatever happens in its chat, a reader that stands still makes the gateway hold less
// than a megabyte, whether it reads the log or hears the feed.
//
// It measures the memory of the process, so no other test runs beside it.
func TestAReaderThatStandsStillHoldsLessThanAMegabyte(t *testing.T) { //nolint:paralleltest // it measures memory
	const readers, commits, bytes, limit = 40, 600, 64 << 10, 1 << 20
	for name, query := range map[string]string{"reading the log": "?after=0", "hearing the feed": "?after=1"} {
		t.Run(name, func(t *testing.T) {
			s := newHouse(t, sse.Handler{WriteTimeout: patience, KeepAlive: time.Hour})
			s.store(1, 1)
			if query == "?after=0" {
				s.store(commits, bytes)
			}
			var later [][]byte
			if query == "?after=1" {
				later = s.store(commits, bytes)
				s.log = s.log[:1]
			}
			before := held()
			for range readers {
				s.stuck(query)
			}
			s.eventually("they watch", func() bool { return s.hub.Watchers() == readers })
			most := uint64(0)
			for n, body := range later {
				s.mu.Lock()
				s.log = s.log[:n+2]
				s.mu.Unlock()
				s.tell(protocol.FeedCommit, body)
				if n%50 == 0 {
					most = max(most, held())
				}
			}
			for still := 0; still < 10; { // until nothing more goes out to them
				before := s.asked()
				if last := held(); s.asked() == before {
					still++
					most = max(most, last)
				} else {
					still = 0
				}
			}
			each := (int64(most) - int64(before)) / readers
			t.Logf("%d readers hold %d KiB each", readers, each>>10)
			if each > limit {
				t.Errorf("each holds %d bytes", each)
			}
		})
	}
}

// held is how much memory is in use after what is not was given back.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A server that ends is not held up by those who watch.
func TestWhoWatchesDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	const many = 20
	s := newHouse(t, sse.Handler{})
	s.store(1, 1)
	var reading sync.WaitGroup
	for range many {
		answer := s.get("acme", "?after=0")
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		reading.Go(func() { _, _ = io.Copy(io.Discard, answer.Body) })
	}
	t.Cleanup(reading.Wait) // after the house has gone
	if n := s.hub.Watchers(); n != many {
		t.Errorf("%d watch", n)
	}
}

var _ watch.Feed = (*house)(nil)
