// Package crash gives a name to every point between two effects of a process,
// and ends the process at one of them without warning. It stands between a part
// and its ports, so the part knows nothing of it. Only binaries built with the
// tag crashpoints have it; see internal/parts.
//
// An effect is what others can see: something stored, sent, acknowledged, asked
// of a model or done by a tool. Each has a point before and one after it. What
// only reads has none: to die before it is to die after the effect before.
package crash

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/everturn/everturn/events"
)

// Environment variables of a process with points.
const (
	// EnvAt is the point to die at, as [Passing.String] writes it.
	EnvAt = "EVERTURN_CRASH_AT"
	// EnvChat is the chat whose passings count; without it those that belong to
	// no chat do. What a model is asked does not name its chat: it is taken for
	// this one's if the name stands in the request, so say it to the assistant.
	EnvChat = "EVERTURN_CRASH_CHAT"
	// EnvList is a file to append a line to for each point that is passed.
	EnvList = "EVERTURN_CRASH_LIST"
)

// Passing is one time that a point is passed on behalf of a chat.
type Passing struct {
	Chat  string // empty if it concerns none
	Point string
	Nth   int // from 1, counted for each chat
}

// String is the form of [EnvAt]: the point, a colon, the number.
func (p Passing) String() string { return p.Point + ":" + strconv.Itoa(p.Nth) }

// Points counts what a process passes. Its methods are safe for concurrent use.
type Points struct {
	at   Passing // where to die; without a point nowhere
	chat string  // of EnvChat
	list *os.File
	die  func()

	mu   sync.Mutex
	seen map[Passing]int // with Nth 0: how often
}

// New makes the points of a process from its environment.
func New(lookup func(string) string) (*Points, error) {
	p := &Points{die: kill, seen: map[Passing]int{}, chat: lookup(EnvChat)}
	if at := lookup(EnvAt); at != "" {
		point, nth, found := strings.Cut(at, ":")
		p.at = Passing{Chat: p.chat, Point: point, Nth: 1}
		if found {
			n, err := strconv.Atoi(nth)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%s: %q does not end in a count from 1", EnvAt, at)
			}
			p.at.Nth = n
		}
	}
	if path := lookup(EnvList); path != "" {
		list, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvList, err)
		}
		p.list = list // open as long as the process lives
	}
	return p, nil
}

// kill ends the process as kill -9 does: nothing deferred runs, nothing is sent.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	panic(fmt.Sprintf("crash: this process is still alive: %v", err))
}

// ReadList gives the passings that a process wrote to its list, in order.
func ReadList(path string) ([]Passing, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list of points: %w", err)
	}
	var list []Passing
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("list of points: line %d: %d fields", len(list)+1, len(fields))
		}
		nth, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("list of points: line %d: %w", len(list)+1, err)
		}
		list = append(list, Passing{Chat: fields[0], Point: fields[1], Nth: nth})
	}
	return list, nil
}

// pass notes that a point is passed, and ends the process if it is the one.
func (p *Points) pass(k events.Key, point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passing := Passing{Chat: k.Chat, Point: point}
	p.seen[passing]++
	passing.Nth = p.seen[passing]
	if p.list != nil {
		// A list that lacks a line shows as a point that is never reached.
		_, _ = fmt.Fprintf(p.list, "%s\t%s\t%d\n", passing.Chat, passing.Point, passing.Nth)
	}
	if p.at.Point != "" && passing == p.at {
		p.die()
	}
}

// around passes the points before and after an effect.
func (p *Points) around(k events.Key, effect string, do func() error) error {
	p.pass(k, "before "+effect)
	err := do()
	p.pass(k, "after "+effect)
	return err
}
