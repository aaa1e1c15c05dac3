package toolrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// drawing is a PNG, and pad bytes behind it that no decoder looks at.
func drawing(t *testing.T, pad int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, pad)...)
}

func shows(text string, list ...toolrunner.Part) func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
	return func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		return toolrunner.Output{Text: text, Parts: list}, nil
	}
}

func TestWhatAResultShowsStandsBehindItsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		picture, report := drawing(t, 0), []byte("%PDF-\x00")
		g := start(t, newBus(), effect(), shows("here",
			toolrunner.Image(" a\nb.png", picture),
			toolrunner.File("report.pdf", "application/pdf", report),
			toolrunner.Link("The manual", "https://example.com/manual"),
			toolrunner.Data(json.RawMessage(`{"degrees":21}`)),
		))
		g.settle(g.work(), 1).wantAck(t)
		want := []events.Part{
			events.Text("here"),
			{Type: events.PartImage, Name: "a b.png", MediaType: "image/png", Bytes: int64(len(picture)), Blob: events.DigestOf(picture)},
			{Type: events.PartFile, Name: "report.pdf", MediaType: "application/pdf", Bytes: 6, Blob: events.DigestOf(report)},
			{Type: events.PartSource, Title: "The manual", URL: "https://example.com/manual"},
			{Type: events.PartData, JSON: `{"degrees":21}`},
		}
		if diff := cmp.Diff(want, g.wantResult(events.ToolOK).Parts); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
		if g.bus.uploads[events.DigestOf(picture)] != string(picture) || g.bus.uploads[events.DigestOf(report)] != string(report) {
			t.Error("not all that is named was stored")
		}
	})
}

func TestPartsThatCannotBeAsTheyWereMeant(t *testing.T) {
	t.Parallel()
	long := json.RawMessage(`"` + strings.Repeat("x", events.MaxResultBytes) + `"`)
	for _, tt := range []struct {
		name  string
		part  toolrunner.Part
		kind  events.PartType // what it becomes; empty if it is left out
		media string
		says  string
	}{
		{"an image that is none", toolrunner.Image("a.png", []byte("<svg/>")), events.PartFile, "text/plain", "not a PNG"},
		{"an image that is broken", toolrunner.Image("a.png", drawing(t, 0)[:12]), events.PartFile, "image/png", "a broken image/png"},
		{"an image that is too large", toolrunner.Image("a.png", drawing(t, model.MaxImageBytes)), events.PartFile, "image/png", "at most 10485760 are shown"},
		{"an empty image", toolrunner.Image("a.png", nil), "", "", `"a.png" is empty`},
		{"an empty file", toolrunner.File("a", "", nil), "", "", `"a" is empty`},
		{"a file that is too large", toolrunner.File("a", "", make([]byte, protocol.MaxUploadBytes+1)), "", "", "a result at most 16777216"},
		{"data that is too long", toolrunner.Data(long), events.PartFile, "application/json", ""},
		{"data that is no JSON", toolrunner.Data(json.RawMessage(`{"a":`)), events.PartFile, "application/json", ""},
		{"a link of many bytes", toolrunner.Link("a", "https://example.com/"+strings.Repeat("x", 2<<10)), "", "", "a link of 2068 bytes"},
		{"a link to nothing", toolrunner.Link(" ", "\n"), "", "", "a link of 0 bytes"},
		{"what no tool makes", toolrunner.Part{Type: events.PartReasoning}, "", "", `none of type "reasoning"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), effect(), shows("done", tt.part))
				g.settle(g.work(), 1).wantAck(t)
				parts := g.wantResult(events.ToolOK).Parts
				if !strings.HasSuffix(parts[0].Text, "done") || !strings.Contains(parts[0].Text, tt.says) {
					t.Errorf("the model reads %q", parts[0].Text)
				}
				switch {
				case tt.kind == "" && len(parts) > 1:
					t.Errorf("shown is %+v", parts[1])
				case tt.kind != "" && (len(parts) != 2 || parts[1].Type != tt.kind || parts[1].MediaType != tt.media):
					t.Errorf("parts are %+v", parts)
				case tt.kind != "" && g.bus.uploads[parts[1].Blob] != string(tt.part.Content):
					t.Error("what is named was not stored")
				}
			})
		})
	}
}

// The effect has happened: its result does not wait for a store that is full.
func TestPartsThatCannotBeStoredAreToldOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		full  bool
		parts []toolrunner.Part
		kept  int
		says  string
	}{
		"the store is full": {true, slices.Repeat([]toolrunner.Part{toolrunner.File("a", "", []byte("x"))}, 3), 0, "[3 parts of the result are left out: they could not be stored.]"},
		"too many":          {false, slices.Repeat([]toolrunner.Part{toolrunner.Link("a", "")}, toolrunner.MaxParts+2), toolrunner.MaxParts, "[2 parts of the result are left out: there are at most 32.]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				if tt.full {
					b.onUpload = func() error { return errors.New("the store is full") }
				}
				g := start(t, b, effect(), shows("done", tt.parts...))
				g.settle(g.work(), 1).wantAck(t)
				r := g.wantResult(events.ToolOK)
				if len(r.Parts) != 1+tt.kept || r.Parts[0].Text != tt.says+"\ndone" {
					t.Errorf("%d parts, the model reads %q", len(r.Parts), r.Parts[0].Text)
				}
			})
		})
	}
}

func TestACallThatFailsShowsItsParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{IsError: true, Parts: []toolrunner.Part{toolrunner.Image("screen.png", drawing(t, 0))}}, nil
		})
		g.settle(g.work(), 1)
		if r := g.wantResult(events.ToolError); len(r.Parts) != 1 || r.Parts[0].Type != events.PartImage {
			t.Errorf("parts are %+v", r.Parts)
		}
	})
}
