package toolrunner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

func TestResultIsSentUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onResult = func(n int) (protocol.ResultAnswer, error) {
			switch {
			case n < 3:
				return protocol.ResultAnswer{}, errNoAnswer
			case n < 20:
				return unavailable, nil
			}
			return committed, nil
		}
		began := time.Now()
		g := start(t, b, effect(), says("done"))
		d := g.settle(g.work(), 1)
		d.wantAck(t)
		if n := len(b.sentResults()); n != 21 {
			t.Errorf("sent %d times, want 21", n)
		}
		if took := d.at.Sub(began); took < 30*time.Second || took > 90*time.Second {
			t.Errorf("took %v: want pauses that grow, but not for ever", took)
		}
	})
}

func TestDroppedResultIsAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onResult = func(int) (protocol.ResultAnswer, error) {
			return protocol.ResultAnswer{Answer: protocol.ResultDropped}, nil
		}
		g := start(t, b, effect(), says("done"))
		g.settle(g.work(), 1).wantAck(t)
		if n := len(b.sentResults()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
	})
}

// Rule: S4.8.
func TestLongResultIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, unit string
		size       int
	}{
		{"of one-byte characters", "a", 100 << 10},
		{"of two-byte characters", "ä", 100 << 10},
		{"of four-byte characters", "🙂", 100 << 10},
		{"by one byte", "a", events.MaxResultBytes + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				whole := "BEGIN" + strings.Repeat(tt.unit, (tt.size-8)/len(tt.unit)) + "END"
				whole += strings.Repeat("!", max(0, tt.size-len(whole)))
				g := start(t, newBus(), effect(), says(whole))
				g.settle(g.work(), 1)

				r := g.wantResult(events.ToolOK)
				text := r.Parts[0].Text
				head, rest, found := strings.Cut(text, "\n\n[")
				marker, tail, closed := strings.Cut(rest, "]\n\n")
				switch {
				case !found || !closed:
					t.Fatal("there is no marker")
				case len(text) > events.MaxResultBytes || len(text) < events.MaxResultBytes-16:
					t.Errorf("%d bytes, want nearly %d", len(text), events.MaxResultBytes)
				case !utf8.ValidString(text):
					t.Error("half a character was left")
				case !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail):
					t.Error("beginning and end are not those of the whole")
				case len(head) < 2*len(tail)-16 || len(head) > 2*len(tail)+16:
					t.Errorf("beginning %d, end %d: want two thirds and one", len(head), len(tail))
				case !strings.Contains(marker, string(r.Blob)) || g.bus.uploads[r.Blob] != whole || !r.Truncated:
					t.Errorf("blob %q, truncated %v, marker %q", r.Blob, r.Truncated, marker)
				}
			})
		})
	}
}

// A tool may know that less of what it gives is worth reading.
func TestAToolMayShowLessThanThereMayBe(t *testing.T) {
	t.Parallel()
	const few = 8 << 10
	for size, wantCut := range map[int]bool{few: false, few + 1: true, 100 << 10: true} {
		synctest.Test(t, func(t *testing.T) {
			whole := strings.Repeat("a", size)
			g := start(t, newBus(), effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				return toolrunner.Output{Text: whole, Shown: few}, nil
			})
			g.settle(g.work(), 1)
			r := g.wantResult(events.ToolOK)
			if r.Truncated != wantCut || len(r.Parts[0].Text) > few || wantCut && g.bus.uploads[r.Blob] != whole {
				t.Errorf("of %d bytes %d are shown, truncated %v, blob %q", size, len(r.Parts[0].Text), r.Truncated, r.Blob)
			}
		})
	}
}

// Rule: S4.8.
func TestOddBytesAreRepairedAndKept(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"invalid UTF-8, NUL and an escape": "\xe2M\xff\x00\x1b[2J",
		"a window title":                   "\x1b]0;owned\x07",
		"bare carriage returns":            strings.Repeat("\r", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), effect(), says(raw))
				g.settle(g.work(), 1)
				r := g.wantResult(events.ToolOK)
				if text := r.Parts[0].Text; text != events.RepairText(raw) {
					t.Errorf("text: %q", text)
				}
				if g.bus.uploads[r.Blob] != raw || r.Truncated {
					t.Errorf("blob %q holds %q, truncated %v", r.Blob, g.bus.uploads[r.Blob], r.Truncated)
				}
			})
		})
	}
}

func TestShortTextIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), says(strings.Repeat("a", events.MaxResultBytes)))
		g.settle(g.work(), 1)
		if r := g.wantResult(events.ToolOK); r.Blob != "" || r.Truncated || len(g.bus.uploads) != 0 {
			t.Errorf("blob %q, truncated %v", r.Blob, r.Truncated)
		}
	})
}

func TestNoTextIsNoPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), says(""))
		g.settle(g.work(), 1)
		if r := g.wantResult(events.ToolOK); len(r.Parts) != 0 {
			t.Errorf("parts: %+v", r.Parts)
		}
	})
}

func TestResultGoesWithoutItsWholeWhenThatCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onUpload = func() error { return errors.New("the store is full") }
		g := start(t, b, effect(), says(strings.Repeat("a", 100<<10)))
		g.settle(g.work(), 1).wantAck(t)
		r := g.wantResult(events.ToolOK)
		if r.Blob != "" || !r.Truncated || !strings.Contains(r.Parts[0].Text, "the whole could not be stored") {
			t.Errorf("blob %q, truncated %v", r.Blob, r.Truncated)
		}
	})
}

func TestMoreThanCanBeStoredIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), says(strings.Repeat("a", protocol.MaxUploadBytes+1)))
		g.settle(g.work(), 1)
		r := g.wantResult(events.ToolOK)
		if len(g.bus.uploads[r.Blob]) != protocol.MaxUploadBytes {
			t.Errorf("stored %d bytes", len(g.bus.uploads[r.Blob]))
		}
		if !strings.Contains(r.Parts[0].Text, "the first 16777216 bytes are stored as sha256:") {
			t.Error("the marker does not say so")
		}
	})
}

// makes is a call that succeeds and has made these.
func makes(list ...toolrunner.Artifact) func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
	return func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		return toolrunner.Output{Text: "done", Artifacts: list}, nil
	}
}

func TestS12_WhatACallMadeIsStoredBeforeItsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), makes(
			toolrunner.Artifact{Title: "out/a.svg", Type: "image/svg+xml", Content: []byte("<svg/>")},
			toolrunner.Artifact{Title: "notes", Content: []byte("Grüße\n")},
			toolrunner.Artifact{Title: "nothing"},
			toolrunner.Artifact{Title: "raw", Content: []byte{0, 1}},
		))
		g.settle(g.work(), 1).wantAck(t)
		r := g.wantResult(events.ToolOK)
		want := []protocol.Artifact{
			{Title: "out/a.svg", Type: "image/svg+xml", Digest: events.DigestOf([]byte("<svg/>")), Bytes: 6},
			{Title: "notes", Type: "text/plain", Digest: events.DigestOf([]byte("Grüße\n")), Bytes: 8},
			{Title: "raw", Type: "application/octet-stream", Digest: events.DigestOf([]byte{0, 1}), Bytes: 2},
		}
		if !slices.Equal(r.Artifacts, want) {
			t.Errorf("reported are %+v, want %+v", r.Artifacts, want)
		}
		for _, a := range r.Artifacts {
			if len(g.bus.uploads[a.Digest]) != int(a.Bytes) {
				t.Errorf("of %s %d bytes are stored", a.Title, len(g.bus.uploads[a.Digest]))
			}
		}
		if text := r.Parts[0].Text; text != "[Artifact \"nothing\" is not kept: it is empty.]\ndone" {
			t.Errorf("the model reads %q", text)
		}
	})
}

func TestS12_OnlyACallThatSucceedsKeepsSomething(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{IsError: true, Artifacts: []toolrunner.Artifact{{Title: "a", Content: []byte("x")}}}, nil
		})
		g.settle(g.work(), 1)
		if r := g.wantResult(events.ToolError); len(r.Artifacts) > 0 || len(g.bus.uploads) > 0 {
			t.Errorf("kept are %+v", r.Artifacts)
		}
	})
}

func TestS12_WhatCannotBeStoredIsToldToTheModel(t *testing.T) {
	t.Parallel()
	small := toolrunner.Artifact{Title: "a", Content: []byte("x")}
	large := toolrunner.Artifact{Title: "b", Content: make([]byte, protocol.MaxUploadBytes)}
	full := func() error { return errors.New("the store is full") }
	for _, tt := range []struct {
		name   string
		upload func() error
		made   []toolrunner.Artifact
		kept   int
		says   string
	}{
		{"the store is full", full, []toolrunner.Artifact{small, small}, 0, "[2 artifacts are not kept: they could not be stored.]"},
		{"too large together", nil, []toolrunner.Artifact{small, large}, 1, "[1 artifacts are not kept: a call has at most 16, of 16777216 bytes together.]"},
		{"too many", nil, slices.Repeat([]toolrunner.Artifact{small}, 18), 16, "[2 artifacts are not kept: a call has at most 16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				if tt.upload != nil {
					b.onUpload = tt.upload
				}
				g := start(t, b, effect(), makes(tt.made...))
				g.settle(g.work(), 1).wantAck(t)
				r := g.wantResult(events.ToolOK)
				if len(r.Artifacts) != tt.kept || !strings.HasPrefix(r.Parts[0].Text, tt.says) || !strings.HasSuffix(r.Parts[0].Text, "done") {
					t.Errorf("kept %d, the model reads %q", len(r.Artifacts), r.Parts[0].Text)
				}
			})
		})
	}
}
