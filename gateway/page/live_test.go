package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// A page that is left open while a chat grows beyond what a page may have goes on with
// what is new.
func TestAPageThatGrowsTooLongLosesItsBeginning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	texts := slices.Repeat([]string{"hello"}, showMost)
	r.page = saidPage(3, transcript.StatusIdle, texts...)
	next := r.stream("/c/c1/live?after=3&from=0", "")
	next()
	r.shows(saidPage(4, transcript.StatusIdle, append(texts, "news")...))
	got := next()
	last := fmt.Sprintf(`id="m-%d"`, showMost+1)
	if !strings.Contains(got.data, last) || strings.Contains(got.data, `id="m-1"`) || !strings.Contains(got.data, "Show earlier") {
		t.Errorf("the newest message is not there, or the oldest is: %.300q", got.data)
	}
	back := r.stream("/c/c1/live?after=3&from=0", "4") // with the window that it had first
	if got := back(); !strings.Contains(got.data, all) || !strings.Contains(got.data, last) || strings.Contains(got.data, `id="m-1"`) {
		t.Errorf("who comes back is shown something else: %.300q", got.data)
	}
}

// Whoever answers slowly is asked rarely, but asked.
func TestLooksTakeABoundedShareOfTime(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond} {
		s := stream{took: took}
		if share := float64(took) / float64(took+s.pause()); share > 1.0/liveShare {
			t.Errorf("looks of %v take %.2f of the time", took, share)
		}
	}
	if s := (stream{took: time.Hour}); s.pause() > liveRarest+livePause {
		t.Errorf("nobody looks again before %v", s.pause())
	}
}

// An answer that is too long to be shown while it comes ends somewhere: it has no holes.
func TestALongAnswerIsShownWithoutHoles(t *testing.T) {
	t.Parallel()
	var a attempt
	step := events.StepID{Turn: 1, Step: 1}
	for _, text := range []string{"begin", strings.Repeat("x", maxLiveBytes), "end"} {
		a.add(protocol.Delta{Step: step, Attempt: 1, Part: 1, Kind: kindText, Text: text})
	}
	if got := a.parts[0].text.String(); got != "begin" {
		t.Errorf("it shows %.20q", got)
	}
}
