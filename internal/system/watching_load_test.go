//go:build processes

package system

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

var watchFor = flag.Duration("watch-for", 15*time.Second, "how long chats are watched under load")

// spoken is what the model of the watched chats says, a piece at a time.
const spoken = `
rules:
  - answer: [{text: "one "}, {pause: 150ms}, {text: "two "}, {pause: 150ms}, {text: "three "}, {pause: 150ms}, {text: "four"}]
`

const (
	loadWatchers = 500
	loadChats    = 50
	slowReaders  = 1

	// largeChat is how many messages the chat has that the slow readers read, and how
	// long each is: more than what lies between a gateway and a reader takes.
	largeTurns, largeBytes = 60, 60 << 10

	// riseLimit is by how many percent slow readers may raise the latency of others.
	// What two measurements without any differ by does not count, nor does riseSlack.
	riseLimit = 10
	riseSlack = 25 * time.Millisecond

	// longEnough is from when on a difference says something about slow readers; in a
	// shorter run only one above shortSlack does.
	longEnough, shortSlack = time.Minute, 500 * time.Millisecond

	// stretches have this many parts each, of which the last is measured.
	stretches, stretchParts = 6, 3
)

// watched is what one watcher was given over all its connections.
type watched struct {
	from    uint64   // the rev of its snapshot; 0 if it began with the first commit
	page    string   // of that snapshot
	commits []string // behind it
	drops   int
	resets  int
}

// latencies are those of commits, from their time to their arrival, by the kind of
// stretch in which they came.
type latencies struct {
	mu   sync.Mutex
	kind stretchKind
	seen [stretchKinds][]time.Duration
}

// stretchKind is what is measured in a stretch.
type stretchKind int

const (
	settling stretchKind = iota // readers come or go
	without                     // slow readers
	withoutAgain
	withSlow
	stretchKinds
)

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[l.kind] = append(l.seen[l.kind], d)
}

func (l *latencies) begin(k stretchKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kind = k
}

// p99 is that of some kinds of stretch together.
func (l *latencies) p99(kinds ...stretchKind) time.Duration {
	var all []time.Duration
	for _, k := range kinds {
		all = append(all, l.seen[k]...)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)*99/100]
}

// judge compares the stretches.
func (l *latencies) judge(t *testing.T) {
	t.Helper()
	quiet, slow := l.p99(without, withoutAgain), l.p99(withSlow)
	differ := (l.p99(without) - l.p99(withoutAgain)).Abs()
	t.Logf("latency of commits, p99: %v without slow readers (two measurements differ by %v), %v with %d of them; %d and %d commits",
		quiet, differ, slow, slowReaders, len(l.seen[without])+len(l.seen[withoutAgain]), len(l.seen[withSlow]))
	slack := riseSlack
	if *watchFor < longEnough {
		slack = shortSlack
	}
	if slow > quiet+quiet*riseLimit/100+max(differ, slack) {
		t.Errorf("slow readers raise the p99 from %v to %v", quiet, slow)
	}
}

// Many watchers on many running chats, whose connections break all the time: what each
// was given is the log, and readers that take a byte a second slow nobody.
func TestManyWatchersUnderLoad(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	g := s.startGateway()
	large := s.large()
	chats := make([]*chat, loadChats)
	for n := range chats {
		chats[n] = s.chat(t, scripted(t, spoken))
	}
	talking, hush := context.WithTimeout(t.Context(), *watchFor)
	defer hush()
	var talk sync.WaitGroup
	for _, c := range chats {
		talk.Go(func() {
			for talking.Err() == nil {
				c.turn("go on")
			}
		})
	}
	taken, ends := &latencies{}, make([]chan uint64, loadWatchers)
	all := make([]*watched, loadWatchers)
	var watching sync.WaitGroup
	for n := range all {
		all[n], ends[n] = &watched{}, make(chan uint64, 1)
		watching.Go(func() { all[n].follow(g, chats[n%loadChats], n, ends[n], taken) })
	}
	s.comeAndGo(talking, g, large, taken)
	talk.Wait()
	logs := make([]history, loadChats)
	for n, c := range chats {
		logs[n] = c.read()
	}
	for n := range all {
		ends[n] <- uint64(len(logs[n%loadChats].commits))
	}
	watching.Wait()
	drops, resets, commits := 0, 0, 0
	for n, w := range all {
		drops, resets, commits = drops+w.drops, resets+w.resets, commits+len(w.commits)
		w.check(chats[n%loadChats], n < loadChats)
	}
	if resets > 0 {
		t.Errorf("%d resets", resets)
	}
	taken.judge(t)
}

// large makes a chat with more to read than fits between a gateway and its reader.
func (s *system) large() *chat {
	s.Helper()
	c := s.chat(s.T, answersWith(strings.Repeat("y", largeBytes)))
	long := strings.Repeat("x", largeBytes)
	for range largeTurns {
		c.turn(long)
	}
	return c
}

// comeAndGo has slow readers come for a stretch, and go, again and again. What is
// measured begins when they stand still.
func (s *system) comeAndGo(ctx context.Context, g *webGateway, c *chat, taken *latencies) {
	s.Helper()
	part := time.NewTicker(*watchFor / stretches / stretchParts)
	defer part.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		kind, leave := []stretchKind{without, withSlow, withoutAgain, withSlow}[n%4], func() {}
		taken.begin(settling)
		if kind == withSlow {
			leave = s.readSlowly(g, c)
		}
		for n := range stretchParts {
			if n == stretchParts-1 {
				taken.begin(kind)
			}
			select {
			case <-ctx.Done():
			case <-part.C:
			}
		}
		leave()
	}
	taken.begin(settling)
}

// readSlowly has readers read a byte a second, until the function it gives is called.
func (s *system) readSlowly(g *webGateway, c *chat) (leave func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var reading sync.WaitGroup
	for range slowReaders {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.address, "http://"))
		if err != nil {
			s.Fatal(err)
		}
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			s.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET /v1/chats/%s/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", c.key.Chat); err != nil {
			s.Fatal(err)
		}
		reading.Go(func() {
			defer func() { _ = conn.Close() }()
			second := time.NewTicker(time.Second)
			defer second.Stop()
			for one := make([]byte, 1); ; {
				select {
				case <-ctx.Done():
					return
				case <-second.C:
					if _, err := conn.Read(one); err != nil {
						return
					}
				}
			}
		})
	}
	return func() {
		cancel()
		reading.Wait()
	}
}

// follow watches until it was given the commit at which the log ends, which it is told
// in the end. Its connections break now and then.
func (w *watched) follow(g *webGateway, c *chat, n int, end <-chan uint64, taken *latencies) {
	chance := rand.New(rand.NewPCG(43, uint64(n)))
	query, last, until := []string{"", "?after=0"}[n%2], "", uint64(0)
	for until == 0 || w.rev() < until {
		s, err := g.open(c, query, last)
		if err != nil {
			c.Error(err)
			return
		}
		lives := time.AfterFunc(time.Duration(chance.IntN(5000))*time.Millisecond, s.drop)
		for until == 0 || w.rev() < until {
			select {
			case until = <-end:
				continue
			default:
			}
			f, err := s.next()
			if err != nil {
				w.drops++
				break
			}
			w.take(f, c, s.since, taken)
		}
		lives.Stop()
		s.drop()
		last = s.last
	}
}

func (w *watched) rev() uint64 { return w.from + uint64(len(w.commits)) }

// take takes what comes; from then on the cursor is that of the stream.
func (w *watched) take(f frame, c *chat, since time.Time, taken *latencies) {
	switch f.event {
	case "snapshot":
		w.page = f.data
		if f.id != "" {
			w.from, w.commits = f.rev(c.T), nil
		}
	case "commit":
		if f.id != fmt.Sprint(w.rev()+1) {
			c.Errorf("commit %s came behind %d", f.id, w.rev())
		}
		w.commits = append(w.commits, f.data)
		commit, err := events.Decode([]byte(f.data))
		if err != nil {
			c.Error(err)
		}
		if commit.At.Time().After(since) { // older ones are from before it came
			taken.add(time.Since(commit.At.Time()))
		}
	case "reset", "lagged", "gone":
		w.resets++
		c.Errorf("%+v", f)
	}
}

// check compares what was given with the log: each commit; and, of one watcher of each
// chat, the transcript that a fold of what it was given makes.
func (w *watched) check(c *chat, fold bool) {
	c.Helper()
	stored := c.logged()
	if len(stored) != int(w.rev()) {
		c.Fatalf("it was given the chat up to rev %d of %d", w.rev(), len(stored))
	}
	given := slices.Clone(stored[:w.from])
	for i, got := range w.commits {
		m := stored[int(w.from)+i]
		if got != string(m.Body) {
			c.Errorf("rev %d is %q, want %q", int(w.from)+i+1, got, m.Body)
		}
		m.Body = []byte(got)
		given = append(given, m)
	}
	if !fold {
		return
	}
	p, err := projections.New(projections.Config{Log: givenLog(given), Blobs: c.s.bus.Blobs})
	if err != nil {
		c.Fatal(err)
	}
	folded := func(at projections.Point) projections.Transcript {
		page, err := p.Transcript(c.Context(), c.key.Tenant, projections.TranscriptRequest{Chat: c.key.Chat, At: at})
		if err != nil {
			c.Fatal(err)
		}
		return page
	}
	if diff := cmp.Diff(c.transcript(), folded(projections.Point{})); diff != "" {
		c.Errorf("transcript of what was given (-log +given):\n%s", diff)
	}
	if w.from == 0 {
		return
	}
	var page projections.Transcript
	if err := json.Unmarshal([]byte(w.page), &page); err != nil {
		c.Fatal(err)
	}
	if diff := cmp.Diff(folded(projections.Point{Rev: w.from}), page); diff != "" {
		c.Errorf("snapshot at rev %d (-log +given):\n%s", w.from, diff)
	}
}

// logged is the chat's log as it is stored.
func (c *chat) logged() []protocol.Stored {
	c.Helper()
	last, err := c.log.Last(patient(c.T), c.key)
	if err != nil {
		c.Fatal(err)
	}
	var list []protocol.Stored
	for m, err := range c.log.Read(patient(c.T), c.key, 0, last.Sequence) {
		if err != nil {
			c.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// givenLog is a log of one chat.
type givenLog []protocol.Stored

// Last implements [projections.Log].
func (l givenLog) Last(context.Context, events.Key) (protocol.Stored, error) {
	return l[len(l)-1], nil
}

// Read implements [projections.Log].
func (l givenLog) Read(_ context.Context, _ events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		for _, m := range l {
			if m.Sequence > after && m.Sequence <= through && !yield(m, nil) {
				return
			}
		}
	}
}
