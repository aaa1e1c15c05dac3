package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
)

// story is commits of a turn: at 0 an input for which it waits until 100, a model that
// fails at 200 and is asked again at 300, a call that is approved, and runs, to 900.
func story() []stored {
	step := events.StepID{Turn: 1, Step: 1}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	at := func(rev uint64, ms events.Time, list ...events.Event) stored {
		return stored{rev: rev, decoded: events.Commit{Rev: rev, At: 1_000_000 + ms, Events: list}}
	}
	return []stored{
		at(1, 0, events.InputAccepted{Input: "a"}),
		at(2, 100, events.TurnStarted{Turn: 1, Inputs: []string{"a"}}, events.StepRequested{Step: step, Purpose: events.PurposeAnswer, Attempt: 1}),
		at(3, 200, events.StepFailed{Step: step, Attempt: 1, RetryAt: 1_000_300}),
		at(4, 300, events.StepRequested{Step: step, Purpose: events.PurposeAnswer, Attempt: 2}),
		at(5, 500, events.StepCompleted{Step: step, Attempt: 2}, events.ApprovalRequested{Call: call, Tool: "write_file"}),
		at(6, 800, events.ApprovalResolved{Call: call}, events.ToolRequested{Call: call, Tool: "write_file"}),
		at(7, 900, events.ToolCompleted{Call: call}, events.TurnCompleted{Turn: 1}),
		at(8, 1000, events.TurnStarted{Turn: 2}),
	}
}

func TestWhereTheTimeOfATurnWent(t *testing.T) {
	t.Parallel()
	w := waterfallAt(story(), 5)
	if w == nil {
		t.Fatal("there is no turn")
	}
	type bar struct {
		Kind, Label, From, Took string
		Open                    bool
	}
	var got []bar
	for _, s := range w.Spans {
		got = append(got, bar{s.Kind, s.Label, s.From, s.Took, s.Open})
		if s.X < 0 || s.Width < minSpan || s.X+s.Width > axis+minSpan {
			t.Errorf("%s lies outside of the axis: %f, %f", s.Label, s.X, s.Width)
		}
	}
	want := []bar{
		{spanWait, "for the turn before", "0 ms", "100 ms", false},
		{spanModel, "model 1.1", "100 ms", "100 ms", false},
		{spanWait, "before the next attempt at 1.1", "200 ms", "100 ms", false},
		{spanModel, "model 1.1, attempt 2", "300 ms", "200 ms", false},
		{spanPerson, "approval of write_file 1.1.1", "500 ms", "300 ms", false},
		{spanTool, "write_file 1.1.1", "800 ms", "100 ms", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	sums := []row{{"waiting", "200 ms"}, {"model", "300 ms"}, {"tools", "100 ms"}, {"people", "300 ms"}}
	if diff := cmp.Diff(sums, w.Sums); diff != "" || w.Took != "900 ms" || w.Open {
		t.Errorf("took %s, open %v, sums (-want +got):\n%s", w.Took, w.Open, diff)
	}
}

// Nobody knows how long a worker lived that went away, and most of the time until that
// was found out it did not.
func TestTheTimeOfALostWorkerIsNotTheModels(t *testing.T) {
	t.Parallel()
	list := story()
	failed := list[2].decoded.Events[0].(events.StepFailed)
	failed.Class, failed.RetryAt = events.ClassCrashed, 0
	list[2].decoded.Events[0] = failed
	w := waterfallAt(list, 5)
	if w == nil || len(w.Spans) < 2 {
		t.Fatalf("got %+v", w)
	}
	if s := w.Spans[1]; s.Kind != spanWait || s.Label != "model 1.1: its worker was lost" || s.Took != "100 ms" {
		t.Errorf("got %+v", s)
	}
	if w.Sums[0] != (row{"waiting", "200 ms"}) || w.Sums[1] != (row{"model", "200 ms"}) {
		t.Errorf("sums %v", w.Sums)
	}
}

func TestATurnThatRunsIsOpen(t *testing.T) {
	t.Parallel()
	w := waterfallAt(story()[:5], 5)
	if w == nil || !w.Open || !w.Spans[len(w.Spans)-1].Open {
		t.Errorf("got %+v", w)
	}
}

func TestBeforeTheFirstTurnTimeWentNowhere(t *testing.T) {
	t.Parallel()
	if w := waterfallAt(story()[:1], 1); w != nil {
		t.Errorf("got %+v", w)
	}
}

func TestArgumentsAreReadAsTheyWillBeWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, given string
		then        []row
	}{
		{"an object has its fields in its order", `{"b": "x\ny", "a": 1.0, "c": {"d": null}, "e": null}`, []row{{"b", "x\ny"}, {"a", "1.0"}, {"c", `{"d": null}`}, {"e", "null"}}},
		{"a field that is there twice makes it no such object", `{"a": 1, "a": 2}`, nil},
		{"spaces are not lost", `{"a": "x   y"}`, []row{{"a", "x   y"}}},
		{"what nobody would see stands as its number", "{\"a\": \"x\u202ey\"}", []row{{"a", "x<U+202E>y"}}},
		{"a list is none", `[1]`, nil},
		{"what is cut off is none", `{"a": 1`, nil},
		{"two are none", `{"a": 1} {"b": 2}`, nil},
		{"nothing is none", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.then, fieldsOf(tt.given)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// What a waterfall needs of commits is little, however much they say.
func TestAWaterfallKeepsNothingThatWasSaid(t *testing.T) {
	t.Parallel()
	want := waterfallAt(story(), 5)
	said := []events.Part{events.Text("what was said")}
	list := story()
	for i := range list {
		for j, e := range list[i].decoded.Events {
			switch e := e.(type) {
			case events.InputAccepted:
				e.Parts = said
				list[i].decoded.Events[j] = e
			case events.StepCompleted:
				e.Parts = said
				list[i].decoded.Events[j] = e
			case events.ToolCompleted:
				e.Parts = said
				list[i].decoded.Events[j] = e
			default:
			}
		}
		list[i].decoded.Events = timed(append(list[i].decoded.Events, events.ChatTitled{Title: "what was said"}))
	}
	if diff := cmp.Diff(want, waterfallAt(list, 5), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("it is another one: %s", diff)
	}
	if b, err := json.Marshal(list[0].decoded.Events); err != nil || len(list[0].decoded.Events) != 1 || strings.Contains(string(b), "what was said") {
		t.Errorf("it keeps %s", b)
	}
}
