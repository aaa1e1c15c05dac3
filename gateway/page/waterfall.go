package page

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// waterfall is where the time of a turn went.
type waterfall struct {
	Turn  int
	Took  string
	Spans []span
	Mark  float64 // where on the axis the rev lies that is looked at
	Open  bool    // the turn has not ended where the commits do
	Sums  []row
}

// Kinds of span.
const (
	spanWait   = "wait"   // for its turn, for a runner, for the next attempt
	spanModel  = "model"  // a model answers
	spanTool   = "tool"   // a tool runs
	spanPerson = "person" // somebody is asked
)

// span is a stretch of time. Its place on the axis is in thousandths of it.
type span struct {
	Kind  string
	Label string
	Took  string
	From  string // after the beginning of the turn
	X     float64
	Width float64
	Rev   uint64 // of the commit that it begins with
	Open  bool

	start, end events.Time
}

// axis is how long the axis is, and minSpan how much of it the shortest span gets: one
// that is not seen at all would be taken for none.
const (
	axis    = 1000
	minSpan = 4
)

// waterfallAt is the turn in which a rev lies, or the one before it; nil if there is
// none among the commits.
func waterfallAt(list []stored, rev uint64) *waterfall {
	turn := 0
	for _, s := range list {
		for _, e := range s.decoded.Events {
			if t, ok := e.(events.TurnStarted); ok && (s.rev <= rev || turn == 0) {
				turn = t.Turn
			}
		}
	}
	if turn == 0 {
		return nil
	}
	f := fall{turn: turn, open: make(map[string]int), waiting: make(map[string]events.Time)}
	for _, s := range list {
		f.commit(s)
	}
	return f.waterfall(list, rev)
}

// timed are those of some events that a waterfall is made of, without what they say.
func timed(list []events.Event) []events.Event {
	var kept []events.Event
	for _, e := range list {
		switch e := e.(type) { //nolint:gochecksumtype // any other takes no time
		case events.InputAccepted:
			kept = append(kept, events.InputAccepted{Input: e.Input})
		case events.StepCompleted:
			kept = append(kept, events.StepCompleted{Step: e.Step})
		case events.StepInterrupted:
			kept = append(kept, events.StepInterrupted{Step: e.Step})
		case events.ToolCompleted:
			kept = append(kept, events.ToolCompleted{Call: e.Call})
		case events.ChildSpawned:
			kept = append(kept, events.ChildSpawned{Call: e.Call})
		case events.QuestionAsked:
			kept = append(kept, events.QuestionAsked{Call: e.Call})
		case events.QuestionAnswered:
			kept = append(kept, events.QuestionAnswered{Call: e.Call})
		case events.TurnStarted, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted, events.StepRequested, events.StepFailed,
			events.ToolRequested, events.ApprovalRequested, events.ApprovalResolved, events.ActionRequested, events.BudgetReached, events.BudgetExtended:
			kept = append(kept, e)
		default:
		}
	}
	return kept
}

// fall collects the spans of a turn.
type fall struct {
	turn       int
	spans      []span
	open       map[string]int // by what is to end them
	waiting    map[string]events.Time
	start, end events.Time
	ended      bool
	at         events.Time
	rev        uint64
}

func (f *fall) begin(key, kind, label string) {
	f.open[key] = len(f.spans)
	f.spans = append(f.spans, span{Kind: kind, Label: label, Rev: f.rev, Open: true, start: f.at})
}

func (f *fall) finish(key string) {
	if i, ok := f.open[key]; ok {
		f.spans[i].end, f.spans[i].Open = f.at, false
		delete(f.open, key)
	}
}

// lost makes a span that is open one in which nobody worked, for all that is known: how
// long the worker lived stands nowhere.
func (f *fall) lost(key string) {
	if i, ok := f.open[key]; ok {
		f.spans[i].Kind = spanWait
		f.spans[i].Label += ": its worker was lost"
	}
}

// commit takes the events of a commit that belong to the turn.
func (f *fall) commit(s stored) {
	f.at, f.rev = s.decoded.At, s.rev
	for _, e := range s.decoded.Events {
		switch e := e.(type) { //nolint:gochecksumtype // any other takes no time
		case events.InputAccepted:
			f.waiting[e.Input] = f.at
		case events.TurnStarted:
			f.started(e)
		case events.TurnCompleted:
			f.over(e.Turn)
		case events.TurnFailed:
			f.over(e.Turn)
		case events.TurnInterrupted:
			f.over(e.Turn)
		case events.StepRequested:
			f.asked(e)
		case events.StepCompleted:
			f.finish("step " + e.Step.String())
		case events.StepInterrupted:
			f.finish("step " + e.Step.String())
		case events.StepFailed:
			if e.Class == events.ClassCrashed {
				f.lost("step " + e.Step.String())
			}
			f.finish("step " + e.Step.String())
			if e.Step.Turn == f.turn && e.RetryAt > f.at {
				f.begin("retry "+e.Step.String(), spanWait, "before the next attempt at "+e.Step.String())
			}
		default:
			f.call(e)
		}
	}
}

// call takes what happens with a call.
func (f *fall) call(e events.Event) {
	switch e := e.(type) { //nolint:gochecksumtype // any other takes no time
	case events.ToolRequested:
		if e.Call.Turn == f.turn {
			f.begin("tool "+e.Call.String(), spanTool, e.Tool+" "+e.Call.String())
		}
	case events.ApprovalRequested:
		if e.Call.Turn == f.turn {
			f.begin("approval "+e.Call.String(), spanPerson, "approval of "+e.Tool+" "+e.Call.String())
		}
	case events.ApprovalResolved:
		f.finish("approval " + e.Call.String())
	case events.QuestionAsked:
		if e.Call.Turn == f.turn {
			f.begin("question "+e.Call.String(), spanPerson, "question "+e.Call.String())
		}
	case events.QuestionAnswered:
		f.finish("question " + e.Call.String())
	case events.ActionRequested:
		for _, id := range e.Calls {
			if id.Turn == f.turn {
				f.begin("tool "+id.String(), spanPerson, "client's tool "+id.String())
			}
		}
	case events.ChildSpawned:
		if e.Call.Turn == f.turn {
			f.begin("tool "+e.Call.String(), spanTool, "chat of its own for "+e.Call.String())
		}
	case events.BudgetReached:
		if e.Turn == f.turn {
			f.begin("budget", spanPerson, "budget")
		}
	case events.BudgetExtended:
		f.finish("budget")
	case events.ToolCompleted:
		f.finish("tool " + e.Call.String())
	default:
	}
}

func (f *fall) started(e events.TurnStarted) {
	if e.Turn != f.turn {
		return
	}
	f.start = f.at
	for _, input := range e.Inputs {
		if since, known := f.waiting[input]; known && since < f.at {
			f.spans = append(f.spans, span{Kind: spanWait, Label: "for the turn before", Rev: f.rev, start: since, end: f.at})
			f.start = min(f.start, since)
		}
	}
}

func (f *fall) asked(e events.StepRequested) {
	if e.Step.Turn != f.turn {
		return
	}
	f.finish("retry " + e.Step.String())
	label := "model " + e.Step.String()
	if e.Purpose != events.PurposeAnswer {
		label += ", " + string(e.Purpose)
	}
	if e.Attempt > 1 {
		label += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	f.begin("step "+e.Step.String(), spanModel, label)
}

func (f *fall) over(turn int) {
	if turn == f.turn {
		f.end, f.ended = f.at, true
	}
}

// waterfall puts the spans on their axis.
func (f *fall) waterfall(list []stored, rev uint64) *waterfall {
	if f.start == 0 {
		return nil // its beginning lies too far back
	}
	if !f.ended {
		f.end = list[len(list)-1].decoded.At
	}
	whole := max(f.end.Sub(f.start).Milliseconds(), 1)
	place := func(t events.Time) float64 {
		return min(max(float64(t.Sub(f.start).Milliseconds())*axis/float64(whole), 0), axis)
	}
	w := &waterfall{Turn: f.turn, Took: took(f.end.Sub(f.start)), Open: !f.ended}
	sums := make(map[string]events.Time)
	for _, s := range f.spans {
		if s.Open {
			s.end = f.end
		}
		s.X = min(place(s.start), axis-minSpan)
		s.Width = max(place(s.end)-s.X, minSpan)
		s.Took, s.From = took(s.end.Sub(s.start)), took(s.start.Sub(f.start))
		sums[s.Kind] += s.end - s.start
		w.Spans = append(w.Spans, s)
	}
	for _, sum := range []row{{"waiting", spanWait}, {"model", spanModel}, {"tools", spanTool}, {"people", spanPerson}} {
		if t, ok := sums[sum.Value]; ok {
			w.Sums = append(w.Sums, row{sum.Name, took(t.Sub(0))})
		}
	}
	for _, s := range list {
		if s.rev == rev {
			w.Mark = place(s.decoded.At)
		}
	}
	return w
}
