package page

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	showFirst = 100   // messages of a chat that are shown at once
	showMore  = 200   // and how many more, each time somebody asks
	showMost  = 2_000 // whoever wants more reads the transcript elsewhere
)

// chat shows a chat. From the rev on that it shows the stream goes on.
func (p *Page) chat(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	window, err := p.window(r, k)
	if err != nil {
		return err
	}
	t, err := p.transcript(r.Context(), k, window, transcript.Point{}, 0)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "chat", viewFrom(t, window, nil))
}

// viewFrom is a page of a chat as it is now, from a message on.
func viewFrom(t transcript.Page, window int, progress map[events.CallID]string) view {
	v := viewOf(t, progress, false)
	v.From, v.More = window, min(len(t.Messages)+showMore, showMost)
	return v
}

// shown is how many messages somebody wants to see.
func shown(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("show"))
	if err != nil || n <= 0 {
		return showFirst
	}
	return min(n, showMost)
}

// window is the number of the message behind which the page begins. The stream goes on
// with the same one: what it shows never moves.
func (p *Page) window(r *http.Request, k events.Key) (int, error) {
	if from, err := strconv.Atoi(r.URL.Query().Get("from")); err == nil && from >= 0 {
		return from, nil
	}
	var head transcript.Head
	if err := p.chats.Query(r.Context(), k.Tenant, transcript.QueryHead, transcript.HeadRequest{Chat: k.Chat}, &head); err != nil {
		return 0, err
	}
	return max(0, head.MessageCount-shown(r)), nil
}

// pageLimit is how many messages are asked for at a time.
const pageLimit = 500

// errMoved means that a chat has grown while it was read.
var errMoved = errors.New("the chat has grown while it was read")

// maxReads is how often a chat is read again that grows meanwhile.
const maxReads = 5

// transcript is the messages behind a number, at some point, at least as of a rev.
func (p *Page) transcript(ctx context.Context, k events.Key, after int, at transcript.Point, minRev uint64) (transcript.Page, error) {
	for range maxReads {
		t, err := p.readTranscript(ctx, k, after, at, minRev)
		if !errors.Is(err, errMoved) {
			return t, err
		}
	}
	return transcript.Page{}, &protocol.RefusedError{Code: events.CodeUnavailable, Detail: "the chat grows faster than it can be read; try again"}
}

// readTranscript puts the pages of a transcript together, if all are of one rev.
func (p *Page) readTranscript(ctx context.Context, k events.Key, after int, at transcript.Point, minRev uint64) (transcript.Page, error) {
	var whole transcript.Page
	for next := after; ; {
		question := transcript.Request{Chat: k.Chat, At: at, MinRev: minRev, After: next, Limit: pageLimit}
		var t transcript.Page
		if err := p.chats.Query(ctx, k.Tenant, transcript.QueryPage, question, &t); err != nil {
			return whole, err
		}
		if next == after {
			whole = t
		} else {
			if t.Rev != whole.Rev {
				return whole, errMoved
			}
			whole.Messages = append(whole.Messages, t.Messages...)
			whole.Marks = append(whole.Marks, t.Marks...)
			whole.Turns = joinTurns(whole.Turns, t.Turns)
		}
		if t.Next == 0 || len(whole.Messages) >= showMost {
			return whole, nil
		}
		next = t.Next
	}
}

// joinTurns puts the turns of two pages together: one that both touch is on both.
func joinTurns(a, b []transcript.Turn) []transcript.Turn {
	for _, t := range b {
		if n := len(a); n > 0 && a[n-1].Turn == t.Turn {
			a[n-1] = t
			continue
		}
		a = append(a, t)
	}
	return a
}

// content gives a file of a chat: to be kept, never to be shown as a page of ours.
func (p *Page) content(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	d := events.HexDigest(r.PathValue("digest"))
	if !d.Valid() {
		return trouble{Status: http.StatusNotFound, Title: "No such content", Detail: "Content has no such name."}
	}
	content, err := p.chats.Download(r.Context(), k, d)
	if err != nil {
		return err
	}
	name := fileName(r.URL.Query().Get("name"))
	if name == "" {
		name = d.Hex()[:hashChars]
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // who has gone away needs no answer
	return nil
}
