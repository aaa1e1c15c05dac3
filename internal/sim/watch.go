package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// watcher sees everything that is stored and everything that leaves a queue, at
// the moment it happens, and judges what no log shows afterwards: that nothing
// is acknowledged before all that it caused is stored.
type watcher struct {
	chats      map[events.Key]*watched
	dispatched map[string]bool // subjects of work and timers that were ever stored
	words      map[string]bool // subjects of words between chats that are stored
	broken     []string
	seen       map[string]int // events, with what distinguishes them

	mu     sync.Mutex // guards what tools ask for
	claims map[claimant]time.Time
	skewed bool // clocks differ by more than is allowed
}

// watched is a chat: its state after each commit, and what of the commits is
// looked for.
type watched struct {
	states  []chat.State // by rev - 1
	stored  []time.Time  // when the server took them
	commits []events.Commit
	entries []verify.Entry          // the same, as they were stored
	retry   map[attempt]events.Time // when a failed attempt may be followed by the next
}

type attempt struct {
	step   events.StepID
	number int
}

func newWatcher() *watcher {
	return &watcher{chats: map[events.Key]*watched{}, dispatched: map[string]bool{}, words: map[string]bool{}, seen: map[string]int{}, claims: map[claimant]time.Time{}}
}

func (w *watcher) observer() membus.Observer {
	return membus.Observer{
		Appended:   w.appended,
		Dispatched: w.isDispatched,
		Settled:    w.settled,
		Asked:      w.asked,
		Answered:   w.answered,
		Replied:    w.replied,
	}
}

func (w *watcher) isDispatched(subject string) {
	w.dispatched[subject] = true
	if strings.HasPrefix(subject, chatWork) {
		w.words[subject] = true
	}
}

// chatWork begins the subjects of words between chats.
const chatWork = "everturn.work.chat."

func (w *watcher) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// appended folds a commit.
func (w *watcher) appended(k events.Key, m protocol.Stored) {
	c, err := events.Decode(m.Body)
	if err != nil {
		w.breaks("log of %s: %v", k, err)
		return
	}
	at := w.chats[k]
	if at == nil {
		at = &watched{retry: map[attempt]events.Time{}}
		w.chats[k] = at
	}
	before := at.last()
	if first, ok := c.Events[0].(events.ChatInherited); ok {
		origin := w.chats[events.Key{Tenant: first.Origin.Tenant, Chat: first.Origin.Chat}]
		before = origin.states[first.Origin.Rev-1].Inherit()
	}
	at.states = append(at.states, before.Apply(c, events.Hash(m.Body)))
	at.commits = append(at.commits, c)
	at.entries = append(at.entries, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
	at.stored = append(at.stored, m.Time)
	_, inherited := c.Events[0].(events.ChatInherited)
	for _, e := range c.Events {
		w.seen[kindOf(e)]++
		switch e := e.(type) {
		case events.ChildEnded:
			if !inherited {
				w.childEnded(k, c.Rev, e)
			}
		case events.StepFailed:
			at.retry[attempt{e.Step, e.Attempt}] = e.RetryAt
		case events.StepRequested:
			due, failed := at.retry[attempt{e.Step, e.Attempt - 1}]
			if failed && due != 0 && m.Time.Before(due.Time()) {
				w.breaks("%s rev %d: attempt %d of step %s was requested %v before its time", k, c.Rev, e.Attempt, e.Step, due.Time().Sub(m.Time))
			}
		}
	}
}

// kindOf is an event's type, with what distinguishes it from others of the type.
func kindOf(e events.Event) string {
	name := string(e.EventType())
	switch e := e.(type) {
	case events.ToolCompleted:
		return name + " " + string(e.Status)
	case events.StepFailed:
		return name + " " + string(e.Class)
	case events.CommandRejected:
		return name + " " + string(e.Code)
	case events.TurnCompleted:
		return name + " " + string(e.Finish)
	case events.ContextCompacted:
		if e.Step == nil {
			return name + " outputs left out"
		}
	case events.ChildEnded:
		return name + " " + string(e.Outcome)
	case events.ApprovalResolved:
		return name + " " + string(e.Decision) + " by " + string(e.By)
	}
	return name
}

func (c *watched) last() chat.State {
	if c == nil || len(c.states) == 0 {
		return chat.State{}
	}
	return c.states[len(c.states)-1]
}

// created is the sequence of the command that made the chat.
func (c *watched) created() uint64 { return c.commits[0].Cause.Sequence }

// erasing is the sequence of the command that asked for the erasure of the chat.
func (c *watched) erasing() (sequence uint64, ok bool) {
	for _, commit := range c.commits {
		if _, asked := commit.Events[0].(events.ChatEraseRequested); asked {
			return commit.Cause.Sequence, true
		}
	}
	return 0, false
}

// replied judges that a client is told what is on record.
func (w *watcher) replied(_ string, r protocol.Reply) {
	for k, c := range w.chats {
		recorded, known := c.last().Outcome(r.ID)
		if known && recorded != r {
			w.breaks("%s: the outcome of command %s was told as %+v, and %+v is on record", k, r.ID, r, recorded)
		}
	}
}

// settled judges that a message may leave its queue.
func (w *watcher) settled(kind string, m protocol.Stored) {
	switch kind {
	case "commands.ack", "commands.delete":
		w.commandSettled(m)
	case "work.model.ack":
		var work protocol.ModelWork
		if w.read(m, &work) {
			w.modelSettled(work)
		}
	case "work.chat.ack":
		var word protocol.ChatWork
		if w.read(m, &word) {
			w.wordSettled(word)
		}
	case "work.tool.ack":
		var work protocol.ToolWork
		if w.read(m, &work) {
			w.toolSettled(work)
		}
	case "timers.due.ack":
		var timer protocol.Timer
		if w.read(m, &timer) {
			w.timerSettled(timer)
		}
	}
}

func (w *watcher) read(m protocol.Stored, into any) bool {
	if err := json.Unmarshal(m.Body, into); err != nil {
		w.breaks("%s: %v", m.Subject, err)
		return false
	}
	return true
}

func (w *watcher) commandSettled(m protocol.Stored) {
	k, verb, err := protocol.ParseCommandSubject(m.Subject)
	if err != nil {
		return
	}
	at := w.chats[k]
	if at == nil {
		return // no chat, no log: answered without a commit
	}
	id, err := protocol.CommandID(m.Get(protocol.HeaderID), m.Time, m.Sequence)
	if err != nil {
		return
	}
	if _, err := protocol.DecodeCommand(verb, m.Body); err != nil {
		return
	}
	if m.Sequence < at.created() {
		return // it was stored before the chat was created
	}
	if asked, ok := at.erasing(); ok && m.Sequence > asked {
		return // and got the answer that the chat is erased
	}
	for i, c := range at.commits {
		if c.Cause.Kind == events.CausedByCommand && c.Cause.ID == id {
			w.stored(at, i, "command "+id)
			return
		}
	}
	w.breaks("%s: command %s, sequence %d, left its queue and is not in the log", k, id, m.Sequence)
}

func (w *watcher) modelSettled(work protocol.ModelWork) {
	at := w.chats[work.Key()]
	if at.last().AttemptOpen(work.Step, work.Attempt) && !at.last().InterruptingStep(work.Step) {
		w.breaks("%s: work of attempt %d of step %s left its queue while the attempt is open", work.Key(), work.Attempt, work.Step)
	}
	w.caused(at, events.CausedByAttempt, fmt.Sprintf("%s-%d", work.Step, work.Attempt))
}

func (w *watcher) toolSettled(work protocol.ToolWork) {
	at := w.chats[work.Key()]
	s := at.last()
	// Near its deadline a call is given up without a result, by a clock that may
	// be wrong; while a turn is interrupted its end settles what is open.
	near := time.Now().After(work.Deadline.Time().Add(-events.Dead - events.Skew))
	if s.CallOpen(work.Call) && !s.Interrupting() && !near && !w.skewed {
		w.breaks("%s: work of call %s left its queue while the call is open", work.Key(), work.Call)
	}
}

// claimant is a process that asked for the licence to run a call.
type claimant struct {
	process string
	key     events.Key
	call    events.CallID
}

// asked notes when a claim was sent last.
func (w *watcher) asked(process, subject string, request []byte) {
	k, err := protocol.ParseChatSubject(subject)
	if err != nil || subject != protocol.ClaimSubject(k) {
		return
	}
	var c protocol.Claim
	if err := json.Unmarshal(request, &c); err != nil {
		w.breaks("%s: %v", subject, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims[claimant{process, k, c.Call}] = time.Now()
}

// claimed is when the process last asked for the licence to run the call.
func (w *watcher) claimed(process string, k events.Key, call events.CallID) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.claims[claimant{process, k, call}]
}

// answered judges that a runner may be told that its result was taken: it will
// not send it again.
func (w *watcher) answered(subject string, request, answer []byte) {
	k, err := protocol.ParseChatSubject(subject)
	if err != nil || subject != protocol.ResultSubject(k) {
		return
	}
	var r protocol.Result
	var a protocol.ResultAnswer
	if err := errors.Join(json.Unmarshal(request, &r), json.Unmarshal(answer, &a)); err != nil {
		w.breaks("%s: %v", subject, err)
		return
	}
	at := w.chats[k]
	switch a.Answer {
	case protocol.ResultCommitted, protocol.ResultDropped:
		if at.last().CallOpen(r.Call) && a.Answer == protocol.ResultCommitted {
			w.breaks("%s: the result of call %s was answered as committed, and the call is open", k, r.Call)
		}
		w.caused(at, events.CausedByResult, r.Call.String())
	case protocol.ResultUnavailable:
	}
}

func (w *watcher) timerSettled(timer protocol.Timer) {
	at := w.chats[timer.Key()]
	for _, owed := range chat.Owed(at.last()) {
		if t, ok := owed.(protocol.Timer); ok && t.Name == timer.Name {
			w.breaks("%s: timer %s left its queue and is still owed", timer.Key(), timer.Name)
		}
	}
	w.caused(at, events.CausedByTimer, timer.Name)
}

// caused judges the commits that a message caused.
func (w *watcher) caused(at *watched, kind events.CauseKind, id string) {
	for i, c := range at.commits {
		if c.Cause.Kind == kind && c.Cause.ID == id {
			w.stored(at, i, string(kind)+" "+id)
		}
	}
}

// stored judges that what is owed since the i-th commit, and still is, was
// dispatched before the message that caused the commit went away.
func (w *watcher) stored(at *watched, i int, what string) {
	still := map[string]bool{}
	for _, owed := range chat.Owed(at.last()) {
		still[protocol.WorkSubject(owed)] = true
	}
	for _, owed := range chat.Owed(at.states[i]) {
		if s := protocol.WorkSubject(owed); still[s] && !w.dispatched[s] {
			w.breaks("%s rev %d: %s left its queue, and %s, which it caused, was never stored", at.last().Key(), i+1, what, s)
		}
	}
}
