package client_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// photo is a PNG of several chunks: what stands behind its end nobody looks at.
func photo(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), bytes.Repeat([]byte("pad"), protocol.MaxChunkBytes)...)
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.create() // the services are there
	content, notes := photo(t), []byte("a,b\n1,2\n")
	chat, reply, err := i.client.SendNew(t.Context(), "", protocol.Send{Parts: []events.Part{events.Text("look")}},
		client.Attachment{Name: "holiday/beach.png", Content: content}, client.Attachment{Name: "notes.json", Content: notes})
	if err != nil || reply.Turn != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	page, err := i.client.Transcript(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	said := page.Messages[0].Parts
	if len(said) != 3 || said[0].Text != "look" {
		t.Fatalf("said %+v", said)
	}
	if p := said[1]; p.Type != events.PartImage || p.Name != "beach.png" || p.MediaType != "image/png" || p.Bytes != int64(len(content)) {
		t.Errorf("the image is %+v", p)
	}
	if p := said[2]; p.Type != events.PartFile || p.Name != "notes.json" || p.MediaType != "application/json" || p.Bytes != int64(len(notes)) {
		t.Errorf("the file is %+v", p)
	}
	for n, want := range [][]byte{content, notes} {
		if got, err := i.client.Download(t.Context(), chat, said[n+1].Blob); err != nil || !bytes.Equal(got, want) {
			t.Errorf("attachment %d comes back as %d bytes, %v", n+1, len(got), err)
		}
	}
	turn, err := i.client.Say(t.Context(), chat, "and this?", nil, client.Attachment{Name: "beach.png", Content: content})
	if err != nil || turn.Status != transcript.TurnCompleted {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestAttachmentsThatDoNotDo(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()
	for says, a := range map[string]client.Attachment{
		"it is empty":    {Name: "a.png"},
		"a broken image": {Name: "a.png", Content: photo(t)[:12]},
		"at most":        {Name: "a.bin", Content: make([]byte, protocol.MaxUploadBytes+1)},
	} {
		if _, err := i.client.Send(t.Context(), chat, "look", a); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	elsewhere := events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: 3, Blob: events.DigestOf([]byte("abc"))}
	_, err := i.client.SendInput(t.Context(), chat, protocol.Send{Parts: []events.Part{elsewhere}})
	if code(err) != events.CodeBadCommand || !strings.Contains(err.Error(), "upload it") {
		t.Errorf("what was not uploaded: %v", err)
	}
	_, err = i.client.Upload(t.Context(), "nobody", []byte("x"))
	if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != events.CodeUnknownChat {
		t.Errorf("an upload to a chat that is not there: %v", err)
	}
	_, err = i.client.Download(t.Context(), chat, events.DigestOf([]byte("missing")))
	if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != events.CodeBadCommand {
		t.Errorf("a download of what is not there: %v", err)
	}
	var a protocol.UploadAnswer
	err = i.client.Query(t.Context(), protocol.QueryUpload, map[string]any{"chat": chat, "v": 1, "dta": "eA=="}, &a)
	if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != events.CodeBadCommand {
		t.Errorf("a field that is misspelt: %v", err)
	}
	err = i.client.Query(t.Context(), protocol.QueryUpload, map[string]any{"chat": "later", "v": 1, "data": "eA==", "import": true}, &a)
	if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != events.CodeBadCommand {
		t.Errorf("an import by who may only send: %v", err)
	}
}
