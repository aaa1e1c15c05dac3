package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// server is one server for as long as the runner runs: one session after the other.
type server struct {
	Server

	times   Times
	box     *sandbox.Sandbox // of one that is a program, else nil
	command sandbox.Command
	secrets *secrets
	log     *slog.Logger

	mu   sync.Mutex
	live *session      // nil while there is none
	why  error         // there is none
	next time.Time     // when it is started again, if that is known
	news chan struct{} // closed when one of the two has changed
}

// Reasons why there is no session.
var (
	errNotYet = errors.New("it has not answered yet")
	errSilent = errors.New("it gives no sign of life after a call that it did not answer")
)

// oldVersion is the version of the protocol that a server is spoken to with which ends
// when it is asked which ones it knows.
const oldVersion = "2025-11-25"

// healthy is how long a server has to be there until what was before is forgotten, in
// pauses before a restart.
const healthy = 60

// run keeps the server up until ctx ends, and waits until nothing of it is left. The
// pauses between two starts grow, up to [mostRestarts] of the first.
func (s *server) run(ctx context.Context, offer func([]toolrunner.Tool)) {
	pinned, wait := false, s.times.Restart
	for ctx.Err() == nil {
		began := time.Now()
		started, err := s.serve(ctx, pinned, offer)
		if ctx.Err() != nil {
			return
		}
		err = errors.New(s.secrets.hide(err.Error())) // what it wraps does not matter from here on
		s.lost(err)
		if !started && s.box != nil {
			if pinned = !pinned; pinned { // the question for versions may have been too much for it
				s.log.Debug("an MCP server does not start; it is tried with an older protocol", "error", err)
				continue
			}
		}
		if started && time.Since(began) >= healthy*s.times.Restart {
			wait = s.times.Restart
		}
		s.rests(wait)
		s.log.Warn("an MCP server is not there; it is tried again", "error", err, "in", wait, "had_started", started)
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, mostRestarts*s.times.Restart)
	}
}

// pause waits for d or for ctx to end, and says whether d passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// serve is one session from its start to its end, and says why it ended. Nothing of it
// is left then.
func (s *server) serve(ctx context.Context, pinned bool, offer func([]toolrunner.Tool)) (started bool, err error) {
	starting, cancel := context.WithTimeoutCause(ctx, s.times.Start, fmt.Errorf("it has not named its tools in %v", s.times.Start))
	defer cancel()
	slow := time.AfterFunc(s.times.Slow, func() {
		s.log.Warn("an MCP server has not named its tools yet; they are offered when it has", "after", s.times.Slow)
	})
	defer slow.Stop()
	one, err := s.connect(ctx, starting, pinned)
	if err != nil {
		return false, late(starting, err)
	}
	defer one.end()
	tools, err := s.list(starting, one)
	if err != nil {
		return false, late(starting, err)
	}
	slow.Stop()
	s.is(one)
	offer(tools)
	s.log.Info("an MCP server is there", "tools", len(tools), "protocol", one.InitializeResult().ProtocolVersion)
	return true, s.follow(ctx, one, offer)
}

// late is err, or that the time is over if that is the reason.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// minRenewal is the least time between two times that a server is asked for its tools.
const minRenewal = time.Second

// mostRenewal is that of a server which says that it has other tools again and again:
// each time all chats that begin a turn would have other ones.
const mostRenewal = time.Minute

// follow stays with a session until its end, which it says the reason of.
func (s *server) follow(ctx context.Context, one *session, offer func([]toolrunner.Tool)) error {
	ended := make(chan error, 1)
	go func() { ended <- one.Wait() }() // ends with the session, whose end is waited for
	var (
		rest    = minRenewal
		renewed = time.Now()
		news    = (<-chan struct{})(one.changed) // nil while it rests
		rested  <-chan time.Time
	)
	for {
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("it has ended the session")
			}
			return err
		case <-news:
			if rest = min(2*rest, mostRenewal); time.Since(renewed) > 2*rest {
				rest = minRenewal
			}
			s.renew(ctx, one, offer)
			renewed, news, rested = time.Now(), nil, time.After(rest)
		case <-rested:
			news = one.changed
		case <-one.doubted:
			if !one.lives(ctx, s.times.Ping) && ctx.Err() == nil {
				one.giveUp()
				return errSilent
			}
			s.is(one)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew asks for the tools once more, and offers them. A server that does not answer is
// doubted, as after a call.
func (s *server) renew(ctx context.Context, one *session, offer func([]toolrunner.Tool)) {
	asking, cancel := context.WithTimeout(ctx, s.times.Ready)
	defer cancel()
	tools, err := s.list(asking, one)
	switch {
	case err == nil:
		offer(tools)
		s.log.Info("an MCP server has other tools now", "tools", len(tools))
	case ctx.Err() == nil:
		s.log.Warn("an MCP server does not say which tools it has now", "error", s.secrets.hide(err.Error()))
		if asking.Err() != nil {
			s.doubt(one)
		}
	}
}

// list asks for the tools, and makes those that are to be offered.
func (s *server) list(ctx context.Context, one *session) ([]toolrunner.Tool, error) {
	names, chosen, err := s.choose(ctx, one)
	if err != nil {
		return nil, err
	}
	s.sayWhatMeansNothing(names)
	short := published(s.Name, names)
	var tools []toolrunner.Tool
	for _, t := range chosen {
		m, err := s.manifest(short[t.Name], t)
		if err != nil {
			s.log.Error("a tool of an MCP server cannot be offered", "error", err)
			continue
		}
		m.Description, m.Schema = s.secrets.conceal(m.Description), s.secrets.concealJSON(m.Schema)
		tools = append(tools, toolrunner.Func(m, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			return s.call(ctx, t.Name, c)
		}))
	}
	return tools, nil
}

// choose gives the names of all tools that the server has, and those which the file
// wants of them. Of more than [maxTools] the rest is left out.
func (s *server) choose(ctx context.Context, one *session) (names []string, chosen []*mcp.Tool, err error) {
	known := map[string]bool{"": true} // one without a name cannot be called
	next, left := "", 0
	for page := 0; page == 0 || next != ""; page++ {
		answer, err := one.ListTools(ctx, &mcp.ListToolsParams{Cursor: next})
		if wrong, ok := errors.AsType[*jsonrpc.Error](err); ok && wrong.Code == jsonrpc.CodeMethodNotFound {
			return nil, nil, nil // it has none
		}
		if err != nil {
			return nil, nil, err
		}
		for _, t := range answer.Tools {
			if known[t.Name] {
				continue
			}
			known[t.Name] = true
			names = append(names, t.Name)
			switch {
			case !s.offers(t.Name):
			case len(chosen) < maxTools:
				chosen = append(chosen, t)
			default:
				left++
			}
		}
		if next = answer.NextCursor; len(names) > maxNames || page > maxListPages {
			return nil, nil, fmt.Errorf("it has more than %d tools, or names them on more than %d pages", maxNames, maxListPages)
		}
	}
	if left > 0 {
		s.log.Warn("an MCP server has too many tools; the rest is not offered, and tools in the file can choose", "offered", maxTools, "left_out", left)
	}
	return names, chosen, nil
}

// sayWhatMeansNothing warns of patterns of the file that no tool matches: a slip in
// the name of a tool would else show up as a call that waits, or does not.
func (s *server) sayWhatMeansNothing(names []string) {
	for field, patterns := range map[string][]string{
		"tools.allow": s.Tools.Allow, "tools.deny": s.Tools.Deny, "readOnly": s.ReadOnly, "idempotent": s.Idempotent, "policies": keys(s.Policies),
	} {
		for _, pattern := range patterns {
			found := false
			for _, name := range names {
				found = found || matches([]string{pattern}, name)
			}
			if !found {
				s.log.Warn("the file of MCP servers names a tool that the server does not have", "field", field, "tool", pattern)
			}
		}
	}
}

func keys(m map[string]string) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// is says that there is a session.
func (s *server) is(one *session) { s.set(one, nil) }

// lost says that there is none.
func (s *server) lost(why error) { s.set(nil, why) }

// doubt keeps calls from a session that left one unanswered, until it has given a sign
// of life, or has been replaced.
func (s *server) doubt(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == one {
		s.change(nil, errSilent)
		remember(one.doubted)
	}
}

func (s *server) set(one *session, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(one, why)
}

// change tells whoever waits. The caller holds mu.
func (s *server) change(one *session, why error) {
	s.live, s.why = one, why
	close(s.news)
	s.news = make(chan struct{})
}

// rests notes that the server is not started before d has passed: who would wait for
// less need not wait at all, and keep a place in which another call could run.
func (s *server) rests(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = time.Now().Add(d)
	s.change(nil, s.why)
}

// ready waits for a session that is not the one which is known to be gone, for a while.
func (s *server) ready(ctx context.Context, gone *session) (*session, error) {
	late := time.Now().Add(s.times.Ready)
	timer := time.NewTimer(s.times.Ready)
	defer timer.Stop()
	for {
		s.mu.Lock()
		live, why, news, next := s.live, s.why, s.news, s.next
		s.mu.Unlock()
		if live != nil && live != gone {
			return live, nil
		}
		if why == nil {
			why = errServerEnded
		}
		if live == nil && next.After(late) {
			return nil, notThere(s.Name, why)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, notThere(s.Name, why)
		}
	}
}

func notThere(server string, why error) error {
	return fmt.Errorf("nothing was done: the MCP server %q is not there: %w", server, why)
}
