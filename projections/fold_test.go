package projections_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
)

// read is what of a transcript these rules are about, on few lines.
type read struct {
	Title    string
	Status   projections.Status
	Archived bool
	Messages []string // "<n> rev <rev> <role>: <part> | <part>"
	Turns    []string // "<turn> <status> <first>-<last>"
	Waiting  []string
}

func readOf(t projections.Transcript) read {
	r := read{Title: t.Title, Status: t.Status, Archived: t.Archived}
	for _, m := range t.Messages {
		r.Messages = append(r.Messages, messageLine(m))
	}
	for _, turn := range t.Turns {
		line := strconv.Itoa(turn.Turn) + " " + string(turn.Status) + " " + strconv.Itoa(turn.First) + "-" + strconv.Itoa(turn.Last)
		for _, more := range []string{string(turn.Finish), string(turn.Class), turn.Message, turn.Reason} {
			if more != "" {
				line += " " + more
			}
		}
		r.Turns = append(r.Turns, line)
	}
	for _, w := range t.Waiting {
		r.Waiting = append(r.Waiting, w.Text)
	}
	return r
}

func messageLine(m projections.Message) string {
	var parts []string
	for _, p := range m.Parts {
		line := string(p.Type) + " " + p.Text
		if p.Call != nil {
			line = p.Name + p.Arguments + " " + string(p.Call.Status)
			for _, r := range p.Call.Result {
				line += " " + r.Text
			}
		}
		parts = append(parts, line)
	}
	line := strconv.Itoa(m.N) + " rev " + strconv.Itoa(int(m.Rev)) + " " + string(m.Role)
	if m.Interrupted {
		line += " interrupted"
	}
	return line + ": " + strings.Join(parts, " | ")
}

func TestWhatPeopleRead(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("word ", 20)
	for _, tt := range []struct {
		name string
		log  story
		want read
	}{
		{
			name: "a new chat is empty and idle",
			log:  story{{created()}},
			want: read{Status: projections.StatusIdle},
		},
		{
			name: "a question and its answer",
			log:  oneTurn(),
			want: read{
				Title: "what is it?", Status: projections.StatusIdle,
				Messages: []string{"1 rev 2 user: text what is it?", "2 rev 3 assistant: text it is late"},
				Turns:    []string{"1 completed 1-2 complete"},
			},
		},
		{
			name: "a running turn shows what was said so far",
			log:  oneTurn()[:2],
			want: read{
				Title: "what is it?", Status: projections.StatusRunning,
				Messages: []string{"1 rev 2 user: text what is it?"}, Turns: []string{"1 running 1-1"},
			},
		},
		{
			name: "a call waits, is handed out, started and settled within its message, whose rev follows",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{answered(1, 1, call(1, "a", "{}"), call(2, "b", "{}"), call(3, "c", ""), call(4, "d", "")), handedOut(1, 1, 1)},
				{result(1, 1, 1, events.ToolError, "no"), handedOut(1, 1, 2), handedOut(1, 1, 3)},
				{running(1, 1, 3)},
			},
			want: read{
				Title: "go", Status: projections.StatusRunning,
				Messages: []string{"1 rev 2 user: text go", "2 rev 5 assistant: a{} error no | b{} requested | c started | d waiting"},
				Turns:    []string{"1 running 1-2"},
			},
		},
		{
			name: "reasoning is shown, what only a provider reads is not",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{answered(1, 1, events.Part{Type: events.PartReasoning, Text: "hm", Opaque: []byte("secret")}, events.Text("so")), completed(1)},
			},
			want: read{
				Title: "go", Status: projections.StatusIdle,
				Messages: []string{"1 rev 2 user: text go", "2 rev 3 assistant: reasoning hm | text so"},
				Turns:    []string{"1 completed 1-2 complete"},
			},
		},
		{
			name: "attempts that failed leave nothing to read",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{events.StepFailed{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Class: events.ClassTimeout, RetryAt: noon}},
				{asked(1, 1, 2)},
				{answered(1, 1, events.Text("late")), completed(1)},
			},
			want: read{
				Title: "go", Status: projections.StatusIdle,
				Messages: []string{"1 rev 2 user: text go", "2 rev 5 assistant: text late"},
				Turns:    []string{"1 completed 1-2 complete"},
			},
		},
		{
			name: "a failed turn says why; what waits goes on waiting",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{said("i2", "and then")},
				{
					events.StepFailed{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Class: events.ClassAuth},
					events.TurnFailed{Turn: 1, Class: events.ClassAuth, Message: "no key"},
				},
			},
			want: read{
				Title: "go", Status: projections.StatusFailed,
				Messages: []string{"1 rev 2 user: text go"},
				Turns:    []string{"1 failed 1-1 auth no key"},
				Waiting:  []string{"and then"},
			},
		},
		{
			name: "an interrupted answer is marked",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{events.TurnInterruptRequested{Turn: 1, Reason: "enough"}},
				{
					events.StepInterrupted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Parts: []events.Part{events.Text("half an")}},
					events.TurnInterrupted{Turn: 1, Reason: "enough"},
				},
			},
			want: read{
				Title: "go", Status: projections.StatusIdle,
				Messages: []string{"1 rev 2 user: text go", "2 rev 4 assistant interrupted: text half an"},
				Turns:    []string{"1 interrupted 1-2 enough"},
			},
		},
		{
			name: "a turn that was asked to end is on its way",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{events.TurnInterruptRequested{Turn: 1}},
			},
			want: read{
				Title: "go", Status: projections.StatusInterrupting,
				Messages: []string{"1 rev 2 user: text go"}, Turns: []string{"1 running 1-1"},
			},
		},
		{
			name: "an answer interrupted before its first word leaves nothing to read",
			log: story{
				{created()},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{
					events.TurnInterruptRequested{Turn: 1},
					events.StepInterrupted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1},
					events.TurnInterrupted{Turn: 1},
				},
			},
			want: read{
				Title: "go", Status: projections.StatusIdle,
				Messages: []string{"1 rev 2 user: text go"}, Turns: []string{"1 interrupted 1-1"},
			},
		},
		{
			name: "inputs that waited are messages of their own, in order; one withdrawn is gone",
			log: story{
				{created()},
				{said("i1", "one"), started(1, "i1"), asked(1, 1, 1)},
				{said("i2", "two")},
				{said("i3", "three")},
				{said("i4", "four")},
				{events.InputWithdrawn{Input: "i3"}},
				{answered(1, 1, events.Text("1")), completed(1), started(2, "i2", "i4"), asked(2, 1, 1)},
			},
			want: read{
				Title: "one", Status: projections.StatusRunning,
				Messages: []string{
					"1 rev 2 user: text one", "2 rev 7 assistant: text 1", "3 rev 7 user: text two", "4 rev 7 user: text four",
				},
				Turns: []string{"1 completed 1-2 complete", "2 running 3-4"},
			},
		},
		{
			name: "what waits is shown as it was edited, in the order in which it will be taken",
			log: story{
				{created()},
				{said("i1", "one"), started(1, "i1"), asked(1, 1, 1)},
				{said("i2", "two")},
				{said("i3", "three")},
				{events.InputEdited{Input: "i2", Parts: []events.Part{events.Text("2")}}},
				{events.InputPromoted{Input: "i3", Place: 1}},
				{events.InputPromoted{Input: "none", Place: 1}, events.InputEdited{Input: "none"}},
			},
			want: read{
				Title: "one", Status: projections.StatusRunning, Messages: []string{"1 rev 2 user: text one"},
				Turns: []string{"1 running 1-1"}, Waiting: []string{"three", "2"},
			},
		},
		{
			name: "what steers a turn stands where the model read it",
			log: story{
				{created()},
				{said("i1", "one"), started(1, "i1"), asked(1, 1, 1)},
				{said("i2", "two")},
				{
					answered(1, 1, events.Text("1")),
					events.InputSteered{Step: events.StepID{Turn: 1, Step: 2}, Inputs: []string{"i2"}},
					asked(1, 2, 1),
				},
				{answered(1, 2, events.Text("2")), completed(1)},
			},
			want: read{
				Title: "one", Status: projections.StatusIdle,
				Messages: []string{
					"1 rev 2 user: text one", "2 rev 4 assistant: text 1", "3 rev 4 user: text two", "4 rev 5 assistant: text 2",
				},
				Turns: []string{"1 completed 1-4 complete"},
			},
		},
		{
			name: "a turn without messages is there",
			log: append(oneTurn(),
				[]events.Event{events.TurnStarted{Turn: 2, Parent: 1, Cause: events.CauseRetry}, asked(2, 1, 1)},
				[]events.Event{events.TurnFailed{Turn: 2, Class: events.ClassQuota, Message: "no money"}}),
			want: read{
				Title: "what is it?", Status: projections.StatusFailed,
				Messages: []string{"1 rev 2 user: text what is it?", "2 rev 3 assistant: text it is late"},
				Turns:    []string{"1 completed 1-2 complete", "2 failed 3-2 quota no money"},
			},
		},
		{
			name: "a title that was set stays, and archiving hides nothing",
			log: story{
				{events.ChatCreated{Title: "first"}},
				{events.ChatTitled{Title: "second"}},
				{said("i1", "go"), started(1, "i1"), asked(1, 1, 1)},
				{events.ChatArchived{}},
			},
			want: read{
				Title: "second", Status: projections.StatusRunning, Archived: true,
				Messages: []string{"1 rev 3 user: text go"}, Turns: []string{"1 running 1-1"},
			},
		},
		{
			name: "S12 the beginning of the first input stands in for a title",
			log:  story{{created()}, {said("i1", "  \n"+long)}, {said("i2", "other")}, {events.ChatUnarchived{}}},
			want: read{
				Title: strings.TrimSpace(long[:50]) + "…", Status: projections.StatusIdle,
				Waiting: []string{"  \n" + long, "other"},
			},
		},
		{
			name: "what does not fit is left out and breaks nothing",
			log: story{
				{created()},
				{result(1, 1, 1, events.ToolOK, "nobody asked"), completed(7), events.InputWithdrawn{Input: "none"}, started(1, "none")},
				{handedOut(9, 9, 9), running(1, 1, 1)},
			},
			want: read{Status: projections.StatusRunning, Turns: []string{"1 running 1-0"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, readOf(transcript(t, tt.log.written()))); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHeadSaysWhatIsUnderWay(t *testing.T) {
	t.Parallel()

	log := oneTurn()[:2]
	failed := []events.Event{events.StepFailed{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Class: events.ClassTimeout, RetryAt: noon.Add(1)}}
	reached := events.BudgetReached{Turn: 1, Scope: events.BudgetOfTurn, Bound: events.BoundTime, Budget: events.Budget{TimeMS: 1}, At: noon}
	extended := events.BudgetExtended{Turn: 1, Scope: events.BudgetOfTurn, Budget: events.Budget{TimeMS: 9}, At: noon}
	underWay := projections.Head{
		Chat: "ann", Rev: 3, At: noon + 3_000, Created: noon + 1_000, Title: "what is it?", Status: projections.StatusRunning,
		Turn: 1, Step: "1.1", Attempt: 1, MessageCount: 1,
	}
	waiting := underWay
	waiting.Reached = &reached
	for _, tt := range []struct {
		name string
		log  story
		want projections.Head
	}{
		{"a budget that is used up", append(log[:2:2], []events.Event{reached}), waiting},
		{"and extended", append(log[:2:2], []events.Event{reached, extended}), underWay},
		{"an attempt", log, projections.Head{
			Chat: "ann", Rev: 2, At: noon + 2_000, Created: noon + 1_000, Title: "what is it?", Status: projections.StatusRunning,
			Turn: 1, Step: "1.1", Attempt: 1, MessageCount: 1,
		}},
		{"a retry", append(log[:2:2], failed), projections.Head{
			Chat: "ann", Rev: 3, At: noon + 3_000, Created: noon + 1_000, Title: "what is it?", Status: projections.StatusRunning,
			Turn: 1, Step: "1.1", Attempt: 1, RetryAt: noon.Add(1), MessageCount: 1,
		}},
		{"nothing", oneTurn(), projections.Head{
			Chat: "ann", Rev: 3, At: noon + 3_000, Created: noon + 1_000, Title: "what is it?", Status: projections.StatusIdle,
			Turn: 1, MessageCount: 2,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := open(t, tt.log.written(), nil).Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: ann.Chat})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("head (-want +got):\n%s", diff)
			}
		})
	}
}
