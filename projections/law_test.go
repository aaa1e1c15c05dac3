package projections_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/projections"
)

// For whatever happens in a chat: a transcript that was followed is the one that
// is read at once, each ended turn has a result for each call, and nothing that
// was said is said twice.
func TestTranscriptsOfGeneratedChats(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chat := chatgen.Log(ann, rand.New(rand.NewPCG(seed, 1)), 60)
			if !chat.State.Exists() {
				return
			}
			b := &book{stored: nil}
			var following *projections.Projections
			for i, c := range chat.Commits {
				b.write(ann, c.Cause, c.Events...)
				if i == 0 {
					following = open(t, b, blobs(chat.Blobs))
				}
				if i%5 == 0 {
					decodedPage(t, following)
				}
			}
			followed := allOf(t, following)
			if diff := cmp.Diff(allOf(t, open(t, b, blobs(chat.Blobs))), followed); diff != "" {
				t.Errorf("transcript (-at once +followed):\n%s", diff)
			}
			settled(t, followed)
		})
	}
}

func allOf(t *testing.T, p *projections.Projections) projections.Transcript {
	t.Helper()
	list := pages(t, p, 50)
	whole := list[0]
	for _, page := range list[1:] {
		whole.Messages = append(whole.Messages, page.Messages...)
		for _, turn := range page.Turns {
			if whole.Turns[len(whole.Turns)-1].Turn < turn.Turn {
				whole.Turns = append(whole.Turns, turn)
			}
		}
	}
	whole.Next = 0
	return whole
}

func settled(t *testing.T, whole projections.Transcript) {
	t.Helper()
	inputs := make(map[string]bool)
	open := whole.Turn
	if whole.Status == projections.StatusIdle || whole.Status == projections.StatusFailed {
		open = 0
	}
	for i, m := range whole.Messages {
		if i > 0 && m.N <= whole.Messages[i-1].N {
			t.Errorf("message %d comes after message %d", m.N, whole.Messages[i-1].N)
		}
		if m.Input != "" && inputs[m.Input] {
			t.Errorf("input %s is there twice", m.Input)
		}
		inputs[m.Input] = true
		for _, p := range m.Parts {
			if p.Type == events.PartCall && m.Turn != open && len(p.Call.Result) == 0 && p.Call.Status != projections.CallStatus(events.ToolOK) {
				t.Errorf("call %s of an ended turn is %s, without a result", p.Call.ID, p.Call.Status)
			}
		}
	}
	last := 0
	for _, turn := range whole.Turns {
		if turn.Parent != last || (turn.Status == projections.TurnRunning) != (turn.Turn == open) {
			t.Errorf("turn %d follows turn %d in the log and %d here, and is %s; open is %d", turn.Turn, turn.Parent, last, turn.Status, open)
		}
		last = turn.Turn
	}
}

// Whoever asks what became of a command is told the same: by who decided it, and by
// who reads what was decided.
func TestACommandHasOneOutcome(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chat := chatgen.Log(ann, rand.New(rand.NewPCG(seed, 3)), 80)
			b := &book{}
			for _, c := range chat.Commits {
				b.write(ann, c.Cause, c.Events...)
			}
			if !chat.State.Exists() {
				return
			}
			p := open(t, b, blobs(chat.Blobs))
			for _, c := range chat.Commits {
				want, decided := chat.State.Outcome(c.Cause.ID)
				if !decided {
					continue
				}
				got, err := p.Command(t.Context(), ann.Tenant, projections.CommandRequest{Chat: ann.Chat, ID: c.Cause.ID})
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s (-decided +read): %v\n%s", c.Cause.Verb, err, diff)
				}
			}
		})
	}
}

// A fold never judges: events in any order make a transcript, if not a sensible one.
func TestNoOrderOfEventsBreaksATranscript(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 2))
		var all []events.Event
		for _, c := range chatgen.Log(ann, chance, 40).Commits {
			all = append(all, c.Events...)
		}
		if len(all) == 0 {
			continue
		}
		b := &book{}
		for range 60 {
			b.write(ann, command("x"), all[chance.IntN(len(all))], all[chance.IntN(len(all))])
		}
		whole := allOf(t, open(t, b, blobs{}))
		if err := projections.NewTextWriter(io.Discard, nil).WritePage(whole); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
