package system

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// seeing is a model that takes images.
type seeing struct{ model.Model }

func (seeing) TakesImages() bool { return true }

// squeamish sees, and refuses a whole request for one image that it cannot read, as
// providers do, or that it does not like.
func squeamish(t *testing.T, dislikes []byte, m model.Model) model.Model {
	t.Helper()
	return seeing{asModel(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		for _, p := range imagesIn(r) {
			_, kind, err := image.DecodeConfig(bytes.NewReader(p.Opaque))
			if err != nil || "image/"+kind != p.MediaType || bytes.Equal(p.Opaque, dislikes) {
				return func(yield func(model.Delta, error) bool) {
					yield(model.Delta{}, &model.Error{Class: events.ClassInvalidRequest, Message: "Could not process image"})
				}
			}
		}
		return m.Stream(ctx, r)
	})}
}

// imagesIn are the images that a request shows.
func imagesIn(r model.Request) []events.Part {
	var list []events.Part
	for _, m := range r.Messages {
		parts := slices.Clone(m.Parts)
		for _, result := range m.Results {
			parts = append(parts, result.Parts...)
		}
		for _, p := range parts {
			if p.Type == events.PartImage && p.Opaque != nil {
				list = append(list, p)
			}
		}
	}
	return list
}

// drawing is a PNG of that size. Of a large one there is only the head.
func drawing(t *testing.T, width, height int) []byte {
	t.Helper()
	const head = 8 + 4 + 4 // magic bytes, length and kind of the first chunk
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	binary.BigEndian.PutUint32(content[head:], uint32(width))
	binary.BigEndian.PutUint32(content[head+4:], uint32(height))
	binary.BigEndian.PutUint32(content[head+13:], crc32.ChecksumIEEE(content[head-4:head+13]))
	return content
}

// moving is a GIF of two frames.
func moving(t *testing.T) []byte {
	t.Helper()
	frame := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sight is an image as somebody says it is, and whether a model can be shown it.
type sight struct {
	name, mediaType string
	content         []byte
	shown           bool
}

func sights(t *testing.T) []sight {
	t.Helper()
	return []sight{
		{"a page under another name", "image/png", []byte("<html><body>Not found</body></html>"), false},
		{"no bytes", "image/png", nil, false},
		{"another kind than it says", "image/jpeg", drawing(t, 2, 2), false},
		{"larger than any model takes", "image/png", drawing(t, 20_000, 2_000), false},
		{"40 million pixels", "image/png", drawing(t, 8_000, 5_000), true},
		{"one that moves", "image/gif", moving(t), true},
	}
}

// showing is the bus of a runner whose results are an image.
type showing struct {
	toolrunner.Bus
	sight
}

// Result implements [toolrunner.Bus].
func (s *showing) Result(ctx context.Context, k events.Key, r protocol.Result) (protocol.ResultAnswer, error) {
	d, err := s.Upload(ctx, k, s.content)
	if err != nil {
		return protocol.ResultAnswer{}, err
	}
	r.Parts = []events.Part{{Type: events.PartImage, MediaType: s.mediaType, Name: "it.png", Bytes: int64(len(s.content)), Blob: d}}
	return s.Bus.Result(ctx, k, r)
}

// B17: what is no image is never shown as one, also if a tool says so: the turn goes
// on, and so does the chat. What a person sends is refused at once.
func TestB17WhatIsNoImageIsNeverShownAsOne(t *testing.T) {
	t.Parallel()
	for _, tt := range sights(t) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{})
			s.startOrchestrator(nil)
			s.startProjections()
			s.startRunner(func(b toolrunner.Bus) toolrunner.Bus { return &showing{b, tt} })
			t.Cleanup(s.nothingIsLeft)
			c := s.chat(t, squeamish(t, nil, scripted(t, toolThenText("      - call: {name: ping, arguments: '{}'}"))))
			h := c.turn("look")
			if n := len(all[events.TurnCompleted](h)); n != 1 {
				t.Errorf("the turn did not complete; the log is\n%s", h)
			}
			if n := len(imagesIn(c.model.last())); (n == 1) != tt.shown {
				t.Errorf("the model is shown %d images", n)
			}
			c.sees(tt)
			c.stillWorks()
		})
	}
}

// sees sends an image, which is refused if no model can be shown it.
func (c *chat) sees(s sight) {
	c.Helper()
	p := events.Part{Type: events.PartImage, MediaType: s.mediaType, Bytes: int64(len(s.content)), Blob: c.upload(s.content)}
	body := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("and this?"), p}}
	if !s.shown {
		if no := c.refused(body); no.Code != events.CodeBadCommand || !strings.HasPrefix(no.Message, "parts[1]: ") {
			c.Errorf("it is refused with %+v", no)
		}
		return
	}
	h := c.ended(c.do(body).Turn)
	const images = 3 // this one, and one that the tool gave in each turn
	if n := len(imagesIn(c.model.last())); len(all[events.TurnCompleted](h)) != 2 || n != images {
		c.Errorf("the model is shown %d images; the log is\n%s", n, h)
	}
}

// upload stores content of the chat.
func (c *chat) upload(content []byte) events.Digest {
	c.Helper()
	d := events.DigestOf(content)
	if err := c.s.bus.Blobs.Put(patient(c.T), c.key, d, content); err != nil {
		c.Fatal(err)
	}
	return d
}

// B17: an image that is one, and that a provider refuses nevertheless, ends the turn
// visibly. The chat answers again once its context was cleared.
func TestB17AnImageThatAProviderRefusesIsClearedAway(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	content := drawing(t, 2, 2)
	c := s.chat(t, squeamish(t, content, scripted(t, plain)))
	p := events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: int64(len(content)), Blob: c.upload(content)}
	h := c.ended(c.do(protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("look"), p}}).Turn)
	if e := only[events.TurnFailed](c); e.Class != events.ClassInvalidRequest || !strings.Contains(e.Message, "image") {
		t.Errorf("the turn failed with %+v; the log is\n%s", e, h)
	}
	c.do(protocol.Clear{V: protocol.Version})
	c.stillWorks()
	if n := len(imagesIn(c.model.last())); n != 0 {
		t.Errorf("the model is still shown %d images", n)
	}
}
