package toolrunner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

func colors() []events.Question {
	return []events.Question{{ID: "color", Header: "Color", Text: "Which color?", Options: []events.Option{
		{Label: "red", Description: "like a rose"}, {Label: "blue", Description: "like the sea"},
	}}}
}

var (
	awaited = protocol.AskAnswer{Answer: protocol.AskWaiting}
	blue    = protocol.AskAnswer{Answer: protocol.AskAnswered, Answers: []events.Answer{{Question: "color", Text: "blue"}}, By: "user:ann"}
)

// painter is a tool that asks and says what it was answered, or why not.
func painter(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
	reply, err := c.Ask(ctx, colors())
	if err != nil {
		return toolrunner.Output{}, err
	}
	return toolrunner.Output{Text: reply.Answers[0].Text + " by " + reply.By}, nil
}

func TestS8_AToolAsksAPersonInTheMiddleOfItsCall(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		onAsk func(n int, a protocol.Ask) (protocol.AskAnswer, error)
		want  events.ToolStatus
		says  string
		asks  int           // at least
		takes time.Duration // at most
	}{
		{
			name: "it repeats its question until a person has answered",
			onAsk: func(n int, a protocol.Ask) (protocol.AskAnswer, error) {
				if n < 3 {
					return awaited, nil
				}
				return blue, nil
			},
			want: events.ToolOK, says: "blue by user:ann", asks: 4, takes: 5 * time.Second,
		},
		{
			name: "answers that are lost, or come from nobody, change nothing once it is known that a person is asked",
			onAsk: func(n int, a protocol.Ask) (protocol.AskAnswer, error) {
				switch {
				case n == 0:
					return awaited, nil
				case n < 6:
					return protocol.AskAnswer{}, errNoAnswer
				case n < 8:
					return protocol.AskAnswer{Answer: protocol.AskUnavailable}, nil
				}
				return blue, nil
			},
			want: events.ToolOK, says: "blue", asks: 9, takes: 17 * time.Second,
		},
		{
			name: "where no orchestrator knows such questions it is told so, after a while",
			onAsk: func(int, protocol.Ask) (protocol.AskAnswer, error) {
				return protocol.AskAnswer{}, errNoAnswer
			},
			want: events.ToolError, says: "no orchestrator", asks: 10, takes: 35 * time.Second,
		},
		{
			name: "what nobody could answer is refused at once, with the reason",
			onAsk: func(int, protocol.Ask) (protocol.AskAnswer, error) {
				return protocol.AskAnswer{Answer: protocol.AskRefused, Why: "its text is blank."}, nil
			},
			want: events.ToolError, says: "its text is blank.", asks: 1,
		},
		{
			name: "a call that is over asks nobody",
			onAsk: func(int, protocol.Ask) (protocol.AskAnswer, error) {
				return protocol.AskAnswer{Answer: protocol.AskOver, Why: "the call is not open"}, nil
			},
			want: events.ToolError, says: "not open", asks: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				b.onAsk = tt.onAsk
				m := effect()
				m.TimeoutMS = time.Minute.Milliseconds()
				g := start(t, b, m, painter)
				began := time.Now()
				g.settle(g.work(), 1).wantAck(t)
				if r := g.result(); r.Status != tt.want || !strings.Contains(r.Parts[0].Text, tt.says) {
					t.Errorf("result %s %q, want %s with %q", r.Status, r.Parts[0].Text, tt.want, tt.says)
				}
				if took := time.Since(began); took > tt.takes {
					t.Errorf("it took %v, want %v at most", took, tt.takes)
				}
				if len(b.asks) < tt.asks {
					t.Errorf("%d requests, want %d", len(b.asks), tt.asks)
				}
				for _, a := range b.asks {
					if a.V != 1 || a.Call != call || a.Rev != 7 || a.Claim != b.claims[0].Claim || a.N != 1 || a.TimeoutMS != 55_000 {
						t.Fatalf("asked %+v", a)
					}
				}
			})
		})
	}
}

func TestS8_QuestionsOfOneCallAreAskedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onAsk = func(int, protocol.Ask) (protocol.AskAnswer, error) { return blue, nil }
		m := effect()
		m.TimeoutMS = time.Minute.Milliseconds()
		g := start(t, b, m, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			other := colors()
			other[0].Text = "And of the sea?"
			for _, questions := range [][]events.Question{colors(), colors(), other, colors()} {
				if _, err := c.Ask(ctx, questions); err != nil {
					return toolrunner.Output{}, err
				}
			}
			return toolrunner.Output{Text: "done"}, nil
		})
		g.settle(g.work(), 1).wantAck(t)
		var numbers []int
		for _, a := range b.asks {
			numbers = append(numbers, a.N)
		}
		if len(numbers) != 4 || numbers[0] != 1 || numbers[1] != 2 || numbers[2] != 1 || numbers[3] != 3 {
			t.Errorf("numbers %v, want the same questions counted", numbers)
		}
	})
}

func TestS8_AToolThatGivesUpWaitingIsToldWhyAndMayAskAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onAsk = func(n int, _ protocol.Ask) (protocol.AskAnswer, error) {
			if time.Since(b.offers[0]) < 20*time.Second {
				return awaited, nil
			}
			return blue, nil
		}
		m := effect()
		m.TimeoutMS = time.Minute.Milliseconds()
		var first error
		g := start(t, b, m, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			short, cancel := context.WithTimeout(ctx, events.AskReserve+events.MinAskTimeout)
			defer cancel()
			_, first = c.Ask(short, colors())
			return painter(ctx, c)
		})
		g.settle(g.work(), 1).wantAck(t)
		if !errors.Is(first, context.DeadlineExceeded) {
			t.Errorf("the first time ended with %v, want its deadline", first)
		}
		if r := g.result(); r.Status != events.ToolOK {
			t.Errorf("result %s %q", r.Status, r.Parts[0].Text)
		}
		if last := b.asks[len(b.asks)-1]; last.N != 1 {
			t.Errorf("asked as number %d: it was not answered before", last.N)
		}
	})
}

func TestS8_ACallWithTooLittleTimeAsksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		var got error
		g := start(t, b, effect(), func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			short, cancel := context.WithTimeout(ctx, events.AskReserve)
			defer cancel()
			_, got = c.Ask(short, colors())
			return toolrunner.Output{}, nil
		})
		g.settle(g.work(), 1).wantAck(t)
		if !errors.Is(got, toolrunner.ErrCannotAsk) || len(b.asks) > 0 {
			t.Errorf("%v after %d requests, want %v", got, len(b.asks), toolrunner.ErrCannotAsk)
		}
	})
}
