package orchestrator_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// seeing is a model that takes images.
type seeing struct{ *script }

func (seeing) TakesImages() bool { return true }

// drawing is a PNG, and pad bytes behind it that no decoder looks at.
func drawing(t testing.TB, pad int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, pad)...)
}

// attach uploads content and gives the part that names it.
func (r *rig) attach(kind events.PartType, mediaType string, content []byte) events.Part {
	r.Helper()
	d, err := r.server.Process("r").Runner().Upload(r.Context(), chatA, content)
	if err != nil {
		r.Fatal(err)
	}
	return events.Part{Type: kind, MediaType: mediaType, Name: "it", Bytes: int64(len(content)), Blob: d}
}

func sends(parts ...events.Part) protocol.Body {
	return protocol.Send{V: protocol.Version, Parts: parts}
}

func (r *rig) ended(turns int) {
	r.Helper()
	r.eventually("the turn has ended", func() bool { return len(eventsOf[events.TurnCompleted](r, chatA)) == turns })
}

// Rule: S12.
func TestImagesAreShownToModelsThatSee(t *testing.T) {
	t.Parallel()
	for name, sees := range map[string]bool{"one that sees": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				said := answers(says("a drawing"), says("still one"))
				var m model.Model = said
				if sees {
					m = seeing{said}
				}
				r.start(m, nil)
				r.do(chatA, create())
				content := drawing(t, 300_000)
				r.do(chatA, sends(events.Text("what is this?"), r.attach(events.PartImage, "image/png", content), r.attach(events.PartFile, "text/csv", []byte("a,b"))))
				r.ended(1)
				r.do(chatA, send("and now?"))
				r.ended(2)
				for i, asked := range said.requests() {
					parts := asked.Messages[0].Parts
					if got := parts[1].Opaque; sees != bytes.Equal(got, content) || !sees && got != nil {
						r.Errorf("request %d shows %d bytes", i+1, len(got))
					}
					if parts[2].Opaque != nil || parts[1].Blob == "" || parts[2].Blob == "" {
						r.Errorf("request %d: %v", i+1, parts[2])
					}
				}
				r.samePrompts(chatA)
			})
		})
	}
}

// What a tool found on a picture is shown with its result, in every later turn too;
// what only says that it is a picture is told of.
func TestImagesOfResultsAreShownToModelsThatSee(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		said := answers(calls("lookup", `{"n":1}`), says("a drawing"), says("still one"))
		r.start(seeing{said}, nil)
		r.offer(lookup())
		r.do(chatA, create())
		r.do(chatA, send("look at it"))
		content := drawing(t, 300_000)
		r.runTool(chatA, events.Text("here"), r.attach(events.PartImage, "image/png", content), r.attach(events.PartImage, "image/png", []byte("<html>")))
		r.ended(1)
		r.do(chatA, send("and now?"))
		r.ended(2)
		for i, asked := range said.requests()[1:] {
			parts := asked.Messages[2].Results[0].Parts
			if len(parts) != 3 || parts[0].Text != "here" || !bytes.Equal(parts[1].Opaque, content) || parts[2].Opaque != nil {
				r.Errorf("request %d shows %d parts", i+2, len(parts))
			}
		}
		for _, e := range eventsOf[events.ToolCompleted](r, chatA) {
			if len(e.Parts) != 3 || e.Parts[1].Opaque != nil || e.Parts[1].Blob == "" {
				r.Errorf("the log has %+v", e.Parts)
			}
		}
		r.samePrompts(chatA)
	})
}

// An input that no model could ever be shown would fail every turn behind it.
func TestUnfitContentIsRefusedWithItsInput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.start(seeing{answers(says("fine"))}, nil)
		r.do(chatA, create())
		page := r.attach(events.PartImage, "image/png", []byte("<html></html>"))
		photo := r.attach(events.PartImage, "image/jpeg", drawing(t, 0))
		short := r.attach(events.PartFile, "text/plain", []byte("four"))
		short.Bytes = 3
		never := events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: 1, Blob: events.DigestOf([]byte("never"))}
		for told, part := range map[string]events.Part{
			"not a PNG": page, "is image/png": photo, "4 were uploaded": short, "was not uploaded to this chat": never,
		} {
			_, outcome := r.command(chatA, sends(events.Text("look"), part))
			reply := outcome()
			if reply.Code != events.CodeBadCommand || !strings.Contains(reply.Message, told) || !strings.HasPrefix(reply.Message, "parts[1]: ") {
				r.Errorf("%s: %+v", told, reply)
			}
		}
		r.do(chatA, send("hi"))
		r.ended(1)
	})
}

// losing is a store of blobs that gives nothing back once it was told why.
type losing struct {
	orchestrator.Blobs

	as atomic.Pointer[error]
}

func (l *losing) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	if err := l.as.Load(); err != nil {
		return nil, *err
	}
	return l.Blobs.Get(ctx, k, d)
}

// What cannot be shown any more fails the turn at once, and says what it is.
func TestAMissingImageFailsItsTurn(t *testing.T) {
	t.Parallel()
	for lost, err := range map[string]error{"is missing": protocol.ErrNotFound, "is damaged": protocol.ErrDamaged} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				store := &losing{}
				r.start(seeing{answers(says("fine"))}, func(_ *orchestrator.Config, b *orchestrator.Bus) {
					store.Blobs = b.Blobs
					b.Blobs = store
				})
				r.do(chatA, create())
				r.do(chatA, sends(r.attach(events.PartImage, "image/png", drawing(t, 0))))
				r.ended(1)
				store.as.Store(&err)
				r.do(chatA, send("again"))
				r.eventually("the turn has failed", func() bool { return r.has(chatA, "turn.failed.v1") })
				failed := eventsOf[events.TurnFailed](r, chatA)[0]
				if failed.Class != events.ClassInvalidRequest || !strings.Contains(failed.Message, lost) {
					r.Errorf("failed as %s: %s", failed.Class, failed.Message)
				}
				if n := len(eventsOf[events.StepFailed](r, chatA)); n != 1 {
					r.Errorf("%d attempts", n)
				}
			})
		})
	}
}

// The newest images are shown for as long as a provider would take them.
func TestOldImagesGiveWay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		said := answers(says("fine"))
		r.start(seeing{said}, nil)
		r.do(chatA, create())
		var parts []events.Part
		for n := range 3 { // each of other bytes, two of them within what is shown
			parts = append(parts, r.attach(events.PartImage, "image/png", drawing(t, 9<<20+n)))
		}
		r.do(chatA, sends(parts...))
		r.ended(1)
		for i, p := range said.requests()[0].Messages[0].Parts {
			if shown := p.Opaque != nil; shown != (i > 0) {
				r.Errorf("image %d is shown: %t", i+1, shown)
			}
		}
		r.samePrompts(chatA)
	})
}
