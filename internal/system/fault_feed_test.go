package system

import (
	"context"
	"encoding/hex"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// viewer is a watcher that shows an answer while it is made, by what the feed's
// documentation says: pieces belong to an attempt, and a later attempt takes the
// place of an earlier one.
type viewer struct {
	mu       sync.Mutex
	step     events.StepID
	attempt  int
	text     string // shown now
	failed   int    // attempts seen to fail
	finished string // shown when the turn ended
	commits  []events.Commit
	progress string

	done chan struct{} // closed at the end of the turn
}

// watch shows the chat to a new viewer until a turn ends, and returns when it
// misses nothing more.
func (c *chat) watch() *viewer {
	c.Helper()
	v := &viewer{done: make(chan struct{})}
	ready, ended := make(chan struct{}), make(chan error, 1)
	ctx := patient(c.T)
	go func() { ended <- c.c.Watch(ctx, c.key.Chat, func() { close(ready) }, v.see) }()
	select {
	case <-ready:
	case err := <-ended:
		c.Fatal(err)
	}
	return v
}

func (v *viewer) see(s client.Sight) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case s.Progress != nil:
		v.progress = s.Progress.Text
	case s.Delta != nil:
		if s.Delta.Step == v.step && s.Delta.Attempt < v.attempt {
			return true // of one that was given up
		}
		if s.Delta.Step != v.step || s.Delta.Attempt > v.attempt {
			v.step, v.attempt, v.text = s.Delta.Step, s.Delta.Attempt, ""
		}
		v.text += s.Delta.Text
	case s.Commit != nil:
		v.commits = append(v.commits, *s.Commit)
		for _, e := range s.Commit.Events {
			switch e.(type) {
			case events.StepFailed:
				v.failed++
			case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
				v.finished = v.text
				close(v.done)
				return false
			default:
			}
		}
	}
	return true
}

// seen is what the viewer shows now, and how many attempts it saw fail.
func (v *viewer) seen() (text string, failed int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text, v.failed
}

// end waits for the end of the turn and gives what was shown then.
func (v *viewer) end(t *testing.T) string {
	t.Helper()
	select {
	case <-v.done:
	case <-patient(t).Done():
		t.Fatal("the viewer saw no end of the turn")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.finished
}

// result is the text of the one result that the viewer saw.
func (v *viewer) result() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return textOf(all[events.ToolCompleted](history{commits: v.commits})[0].Parts)
}

// B29: the text of an attempt that failed is not joined to that of the next,
// for nobody.
//
// Rule: S3.
func TestB29OnlyTheLastAttemptsTextRemains(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	var asked atomic.Int32
	goOn := make(chan struct{})
	c := s.chat(t, asModel(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		if asked.Add(1) == 1 {
			return func(yield func(model.Delta, error) bool) {
				_ = yield(model.Delta{Kind: model.DeltaText, Text: "Partial "}, nil) &&
					yield(model.Delta{}, &model.Error{Class: events.ClassOverloaded, Message: "too many people"})
			}
		}
		return func(yield func(model.Delta, error) bool) {
			select {
			case <-goOn:
			case <-ctx.Done():
				yield(model.Delta{}, ctx.Err())
				return
			}
			for _, piece := range []string{"Full ", "answer"} {
				if !yield(model.Delta{Kind: model.DeltaText, Text: piece}, nil) {
					return
				}
			}
			answers(events.StopEnd, events.Text("Full answer"))(yield)
		}
	}))
	throughout := c.watch()
	c.do(send("go"))
	eventually(t, "the viewer saw the first attempt fail", func() bool {
		text, failed := throughout.seen()
		return text == "Partial " && failed == 1
	})
	joining := c.watch()
	close(goOn)

	const want = "Full answer"
	if got := throughout.end(t); got != want {
		t.Errorf("who watched throughout sees %q in the end, want %q", got, want)
	}
	if got := joining.end(t); got != want {
		t.Errorf("who joined between sees %q in the end, want %q", got, want)
	}
	if got := c.ended(1).finalText(); got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
	c.reads("go", want)
	c.stillWorks()
	for _, m := range c.model.last().Messages {
		if strings.Contains(textOf(m.Parts), "Partial") {
			t.Errorf("the model is shown %q", textOf(m.Parts))
		}
	}
}

// B38: a tool says bytes that are no text. They are repaired once, before the
// commit, so that everybody reads the same; the bytes themselves are kept.
//
// Rule: S4.8.
func TestB38OddBytesAreRepairedOnceForEverybody(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	for _, tt := range []struct {
		name, raw, want string
	}{
		{"broken UTF-8, NUL and an order to a terminal", "\xe2\x4d\xff\x00\x1b\x5b\x32\x4a", "\uFFFDM\uFFFD\uFFFD\uFFFD[2J"},
		{"a flood of carriage returns", "10%" + strings.Repeat("\r", 20_000) + "100%", "10%" + strings.Repeat("\n", 20_000) + "100%"},
		{"titles for a terminal", "\x1b]0;owned\x07a\u009d2;owned\u009cb", "\uFFFD]0;owned\uFFFDa\uFFFD2;owned\uFFFDb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := s.chat(t, scripted(t, toolThenText("      - call: {name: bytes, arguments: '{\"text\": \""+hex.EncodeToString([]byte(tt.raw))+"\"}'}")))
			v := c.watch()
			h := c.turn("go")
			v.end(t)
			result := all[events.ToolCompleted](h)[0]
			shown := c.model.last().Messages
			transcript := c.transcript().Messages[1].Parts[0].Call.Result
			for where, got := range map[string]string{
				"the log":        textOf(result.Parts),
				"the feed":       v.result(),
				"the transcript": transcript[0].Text,
				"the prompt":     textOf(shown[len(shown)-1].Results[0].Parts),
			} {
				if got != tt.want {
					t.Errorf("%s has %.60q, want %.60q", where, got, tt.want)
				}
			}
			if v.progress != "" && !strings.HasPrefix(tt.want, v.progress) {
				t.Errorf("the progress is %.60q", v.progress)
			}
			raw, err := s.bus.Blobs.Get(patient(t), c.key, result.Blob)
			if err != nil || string(raw) != tt.raw {
				t.Errorf("the blob has %.60q, %v, want the bytes as they were", raw, err)
			}
			c.stillWorks()
		})
	}
}
