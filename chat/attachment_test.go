package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// photo is an image that was uploaded, with n in its content.
func photo(n int) events.Part {
	return events.Part{
		Type: events.PartImage, MediaType: "image/png", Name: "a.png", Bytes: 12, Blob: events.DigestOf([]byte{byte(n)}),
	}
}

func paper(size int64) events.Part {
	return events.Part{Type: events.PartFile, MediaType: "application/pdf", Bytes: size, Blob: events.DigestOf([]byte("paper"))}
}

// Rule: S12.
func TestAttachmentsAreTakenByDigest(t *testing.T) {
	t.Parallel()
	s := begin(t)
	odd := paper(7)
	odd.Name, odd.MediaType, odd.Opaque, odd.URL, odd.Text = " a\nname ", "", []byte("x"), "https://example.org", "more"
	_, list := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("look"), photo(1), odd}})
	wants(t, list, "input.accepted", "turn.started", "step.requested")
	parts := find[events.InputAccepted](t, list).Parts
	if parts[1].Blob != photo(1).Blob || parts[1].Name != "a.png" || parts[1].Bytes != 12 {
		t.Errorf("the image is %+v", parts[1])
	}
	if p := parts[2]; p.Name != "a name" || p.MediaType != "application/octet-stream" || p.Opaque != nil || p.URL != "" || p.Text != "" {
		t.Errorf("the file is %+v", p)
	}
	r := chat.Prompt(s.state)
	if got := r.Messages[0].Parts; len(got) != 3 || got[1].Blob != photo(1).Blob || got[1].Opaque != nil {
		t.Errorf("the prompt has %+v", got)
	}
	if want := find[events.StepRequested](t, list).Prompt; events.DigestOf(r.Canonical()) != want {
		t.Error("the prompt has another digest than was recorded")
	}
}

func TestAttachmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	change := func(p events.Part, do func(*events.Part)) []events.Part {
		do(&p)
		return []events.Part{events.Text("look"), p}
	}
	for _, tt := range []struct {
		name  string
		parts []events.Part
		says  string
	}{
		{"without a digest", change(photo(1), func(p *events.Part) { p.Blob = "" }), "parts[1]: blob"},
		{"with something else in place of it", change(photo(1), func(p *events.Part) { p.Blob = "sha256:12" }), "uploaded"},
		{"without a size", change(photo(1), func(p *events.Part) { p.Bytes = 0 }), "bytes"},
		{"an image of another kind", change(photo(1), func(p *events.Part) { p.MediaType = "image/svg+xml" }), "send anything else as a file"},
		{"an image that is too large", change(photo(1), func(p *events.Part) { p.Bytes = model.MaxImageBytes + 1 }), "make it smaller"},
		{"a file that is too large", change(paper(1), func(p *events.Part) { p.Bytes = protocol.MaxUploadBytes + 1 }), "at most"},
		{"a type with parameters", change(paper(1), func(p *events.Part) { p.MediaType = "text/plain; charset=utf-8" }), "media_type"},
		{"a type without a subtype", change(paper(1), func(p *events.Part) { p.MediaType = "pdf" }), "media_type"},
		{"too much together", []events.Part{paper(16 << 20), paper(16 << 20), paper(1)}, "send them in several"},
		{"another kind of part", change(photo(1), func(p *events.Part) { p.Type = events.PartSource }), "want text, image or file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			_, list := s.command(protocol.Send{V: 1, Parts: tt.parts})
			wants(t, list, "command.rejected")
			if r := find[events.CommandRejected](t, list); r.Code != events.CodeBadCommand || !strings.Contains(r.Message, tt.says) {
				t.Errorf("rejected with %s: %s", r.Code, r.Message)
			}
			if got := chat.Attached(protocol.Send{Parts: tt.parts}); got != nil {
				t.Errorf("content would be looked at: %+v", got)
			}
		})
	}
}

func TestContentThatDoesNotDo(t *testing.T) {
	t.Parallel()
	s := begin(t)
	b := protocol.Send{V: 1, Parts: []events.Part{events.Text("look"), photo(1), photo(2)}}
	if got := chat.Attached(b); len(got) != 2 || got[1].Blob != photo(2).Blob {
		t.Errorf("looked at: %+v", got)
	}
	list := s.tell(chat.Command{ID: "c", Sequence: 2, Body: b, Unfit: map[events.Digest]string{photo(2).Blob: "it is no image"}})
	wants(t, list, "command.rejected")
	if r := find[events.CommandRejected](t, list); r.Code != events.CodeBadCommand || r.Message != "parts[2]: it is no image" {
		t.Errorf("rejected with %s: %s", r.Code, r.Message)
	}
}

// Rule: S12.
func TestAChatHasRoomForSoManyAttachments(t *testing.T) {
	t.Parallel()
	s := begin(t)
	full := func(n int) []events.Part {
		var parts []events.Part
		for i := range n {
			parts = append(parts, photo(i))
		}
		return parts
	}
	s.command(protocol.Send{V: 1, Parts: full(chat.MaxAttachments / 2)})
	waiting, _ := s.command(protocol.Send{V: 1, Parts: full(chat.MaxAttachments / 2)}) // behind the turn that runs
	_, list := s.command(protocol.Send{V: 1, Parts: full(1)})
	if r := find[events.CommandRejected](t, list); r.Code != events.CodeBadCommand || !strings.Contains(r.Message, "go on in a new one") {
		t.Errorf("rejected with %s: %s", r.Code, r.Message)
	}
	s.command(protocol.Withdraw{V: 1, Input: waiting})
	_, list = s.command(protocol.Send{V: 1, Parts: full(chat.MaxAttachments / 2)})
	wants(t, list, "input.accepted")
}
