package page

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	onlyAtEnd = `hx-target="#messages" hx-swap="beforeend"`
	all       = `hx-target="#messages" hx-swap="innerMorph"`
)

// TestABrowserThatHasSeenTheNewestRevIsToldNothingTwice: B43, as a page has it.
func TestABrowserThatHasSeenTheNewestRevIsToldNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(3, transcript.StatusIdle, "hello", "hi")
	next := r.stream("/c/c1/live?after=3", "")
	if first := next(); first.id != "3" || strings.Contains(first.data, "#m-") || strings.Contains(first.data, "#messages") {
		t.Errorf("the first event is %+v, want only its rev", first)
	}
	r.shows(saidPage(4, transcript.StatusRunning, "hello", "hi", "again"))
	got := next()
	if got.id != "4" || strings.Count(got.data, onlyAtEnd) != 1 || !strings.Contains(got.data, `id="m-3"`) || strings.Contains(got.data, `id="m-1"`) {
		t.Errorf("got %+v, want the third message and no other", got)
	}
}

// TestABrowserThatComesBackIsShownWhatIsNow: it may have missed anything, so it is shown
// the whole, which takes the place of what it had.
func TestABrowserThatComesBackIsShownWhatIsNow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(9, transcript.StatusIdle, "hello", "hi", "again", "yes")
	next := r.stream("/c/c1/live?after=3", "5") // the header is newer than the address
	got := next()
	if got.id != "9" || strings.Count(got.data, all) != 1 || strings.Contains(got.data, onlyAtEnd) {
		t.Fatalf("got %+v, want all messages at once", got)
	}
	for _, id := range []string{`id="m-1"`, `id="m-2"`, `id="m-3"`, `id="m-4"`} {
		if strings.Count(got.data, id) != 1 {
			t.Errorf("%s stands there %d times", id, strings.Count(got.data, id))
		}
	}
}

func TestAChangedMessageTakesItsOwnPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(3, transcript.StatusRunning, "hello", "hi")
	next := r.stream("/c/c1/live?after=3", "")
	next()
	r.shows(saidPage(4, transcript.StatusRunning, "hello", "hi, you"))
	if got := next(); !strings.Contains(got.data, `hx-target="#m-2" hx-swap="outerMorph"`) || strings.Contains(got.data, "#m-1") {
		t.Errorf("got %+v, want the second message in its place", got)
	}
}

func TestAnotherBranchReplacesTheConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(3, transcript.StatusRunning, "hello", "hi", "again", "yes")
	next := r.stream("/c/c1/live?after=3", "")
	next()
	r.shows(saidPage(4, transcript.StatusRunning, "hello", "hi"))
	if got := next(); !strings.Contains(got.data, all) || strings.Contains(got.data, `id="m-3"`) {
		t.Errorf("got %+v, want the conversation without what is on the other branch", got)
	}
}

// TestAnAnswerIsShownWhileItComes: a later attempt takes the place of an earlier one,
// and when the answer is there it is no longer on its way.
func TestAnAnswerIsShownWhileItComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	running := saidPage(3, transcript.StatusRunning, "hello")
	running.Step, running.Attempt = "1.1", 2
	r.page = running
	next := r.stream("/c/c1/live?after=3", "")
	next()
	say := func(attempt, i int, text string) {
		r.events <- watch.Event{Kind: watch.KindDelta, Delta: &protocol.Delta{
			Turn: 1, Step: events.StepID{Turn: 1, Step: 1}, Attempt: attempt, I: i, Kind: kindText, Text: text,
		}}
	}
	until := func(holds func(string) bool) {
		t.Helper()
		for {
			if got := next(); holds(got.data) {
				if got.name == "" && strings.Contains(got.data, "#live") && got.id != "" && got.id != "3" && got.id != "4" {
					t.Errorf("an answer on its way has the id %q: a browser would not come back to it", got.id)
				}
				return
			}
		}
	}
	say(1, 0, "old words")
	say(2, 0, "new *wor")
	say(2, 1, "ds*")
	say(1, 1, "late")
	until(func(data string) bool {
		if strings.Contains(data, "old words") || strings.Contains(data, "late") {
			t.Errorf("a given up attempt is shown: %s", data)
		}
		return strings.Contains(data, "<em>words</em>")
	})
	r.shows(saidPage(4, transcript.StatusIdle, "hello", "new words"))
	until(func(data string) bool {
		return strings.Contains(data, `id="m-2"`) && strings.Contains(data, `<hx-partial hx-target="#live" hx-swap="innerMorph"></hx-partial>`)
	})
}
