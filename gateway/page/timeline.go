package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	commitsShown = 500 // of one page of the timeline
	commitsAsked = 100 // at a time
	turnReach    = 200 // commits before and after a rev among which its turn is looked for
)

// Looks are what can be seen of a chat at a rev.
const (
	lookChat   = "chat"   // as people read it
	lookPrompt = "prompt" // what the model was shown last
	lookState  = "state"  // what decisions are made from
	lookRaw    = "raw"    // the commit as it is stored
)

// timelinePage is everything that happened in a chat.
type timelinePage struct {
	Chat    string
	Title   string
	Newest  uint64
	Commits []commit
	First   uint64 // of those shown; the last is Last
	Last    uint64
	Older   string
	Newer   string
	At      moment
}

// commit is one commit for people.
type commit struct {
	Rev    uint64
	At     events.Time
	Since  string // the commit before
	Events []event
	Link   string
	Newer  bool // a newer release wrote it: only its bytes can be shown

	// Of one that is looked at.
	Cause events.Cause
	Raw   string
	Size  string
	Hash  string
	Prev  string
}

// event is one event of a commit.
type event struct {
	Type   string
	Family string // its first word, by which it has its colour
	About  string
	JSON   string
}

// moment is a chat at a rev.
type moment struct {
	Chat   string
	Rev    uint64
	Newest uint64
	Look   string
	Looks  []look
	Commit commit
	View   view
	Prompt *promptView
	State  *transcript.State
	JSON   string
	Turn   *waterfall
	Before string
	Behind string
	None   string // why there is nothing to see
}

type look struct {
	Name, Label, Link string
	Selected          bool
}

// timeline shows what happened in a chat, commit by commit.
func (p *Page) timeline(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	var head transcript.Head
	if err := p.chats.Query(r.Context(), k.Tenant, transcript.QueryHead, transcript.HeadRequest{Chat: k.Chat}, &head); err != nil {
		return err
	}
	at, err := p.momentOf(r, k, head.Rev)
	if err != nil {
		return err
	}
	shown := timelinePage{Chat: k.Chat, Title: titleOf(head), Newest: head.Rev, At: at}
	after := (at.Rev - 1) / commitsShown * commitsShown
	var before stored
	err = p.commits(r.Context(), k, after, min(after+commitsShown, head.Rev), func(c stored) {
		shown.Commits = append(shown.Commits, lineOf(k.Chat, at.Look, before, c))
		before = c
	})
	if err != nil {
		return err
	}
	shown.First, shown.Last = after+1, after+uint64(len(shown.Commits))
	if after > 0 {
		shown.Older = momentLink(k.Chat, after, at.Look)
	}
	if shown.Last < head.Rev {
		shown.Newer = momentLink(k.Chat, shown.Last+1, at.Look)
	}
	return p.show(w, http.StatusOK, "timeline", shown)
}

// timelineAt is the chat at a rev, for a timeline that is shown already.
func (p *Page) timelineAt(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	at, err := p.momentOf(r, k, 0)
	if err != nil {
		return err
	}
	if !isFragment(r) {
		return elsewhere(w, r, momentLink(k.Chat, at.Rev, at.Look))
	}
	w.Header().Set("HX-Replace-Url", momentLink(k.Chat, at.Rev, at.Look))
	return p.show(w, http.StatusOK, "moment", at)
}

func momentLink(chat string, rev uint64, look string) string {
	return "/c/" + chat + "/timeline?" + url.Values{"rev": {strconv.FormatUint(rev, 10)}, "look": {look}}.Encode()
}

// momentOf is the chat at the rev that is asked for, by default the newest; 0: that is
// not known yet.
func (p *Page) momentOf(r *http.Request, k events.Key, newest uint64) (moment, error) {
	asked := r.URL.Query()
	rev, err := number[uint64](asked, "rev")
	if err != nil {
		return moment{}, err
	}
	if newest == 0 {
		var head transcript.Head
		if err := p.chats.Query(r.Context(), k.Tenant, transcript.QueryHead, transcript.HeadRequest{Chat: k.Chat}, &head); err != nil {
			return moment{}, err
		}
		newest = head.Rev
	}
	if rev == 0 || rev > newest {
		rev = newest
	}
	m := moment{Chat: k.Chat, Rev: rev, Newest: newest, Look: asked.Get("look")}
	if rev > 1 {
		m.Before = momentLink(k.Chat, rev-1, m.Look)
	}
	if rev < newest {
		m.Behind = momentLink(k.Chat, rev+1, m.Look)
	}
	var near []stored // without what they say: that may be much
	err = p.commits(r.Context(), k, max(rev, turnReach)-turnReach, min(rev+turnReach, newest), func(c stored) {
		if c.rev == rev {
			var before stored
			if len(near) > 0 {
				before = near[len(near)-1]
			}
			m.Commit = commitOf(k.Chat, m.Look, before, c)
		}
		near = append(near, stored{rev: c.rev, newer: c.newer, decoded: events.Commit{At: c.decoded.At, Events: timed(c.decoded.Events)}})
	})
	if err != nil {
		return m, err
	}
	m.Turn = waterfallAt(near, rev)
	if err := p.look(r.Context(), k, &m); err != nil {
		return m, err
	}
	for _, l := range []look{{Name: lookChat, Label: "Conversation"}, {Name: lookPrompt, Label: "What the model saw"}, {Name: lookState, Label: "State"}, {Name: lookRaw, Label: "Raw commit"}} {
		l.Link, l.Selected = momentLink(k.Chat, rev, l.Name), l.Name == m.Look
		m.Looks = append(m.Looks, l)
	}
	return m, nil
}

// look fills in what is to be seen.
func (p *Page) look(ctx context.Context, k events.Key, m *moment) error {
	switch m.Look {
	case lookRaw:
		m.JSON = m.Commit.Raw
		return nil
	case lookState:
		var s transcript.State
		err := p.chats.Query(ctx, k.Tenant, transcript.QueryState, transcript.StateRequest{Chat: k.Chat, Rev: m.Rev}, &s)
		m.State, m.JSON = &s, indented(s.State)
		return m.absent(err)
	case lookPrompt:
		var shown transcript.Prompt
		err := p.chats.Query(ctx, k.Tenant, transcript.QueryPrompt, transcript.PromptRequest{Chat: k.Chat, Rev: m.Rev, Full: true}, &shown)
		if err == nil {
			m.Prompt = promptOf(shown)
		}
		return m.absent(err)
	}
	m.Look = lookChat
	at := transcript.Point{Rev: m.Rev}
	var begin transcript.Page
	if err := p.chats.Query(ctx, k.Tenant, transcript.QueryPage, transcript.Request{Chat: k.Chat, At: at, Limit: 1}, &begin); err != nil {
		return err
	}
	from := max(0, begin.MessageCount-showFirst)
	t, err := p.transcript(ctx, k, from, at, 0)
	if err != nil {
		return err
	}
	m.View = viewOf(t, nil, true)
	m.View.From = from
	return nil
}

// verify judges a chat's log by the rules.
func (p *Page) verify(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	var verdict transcript.Verdict
	if err := p.chats.Query(r.Context(), k.Tenant, transcript.QueryVerify, transcript.VerifyRequest{Chat: k.Chat}, &verdict); err != nil {
		return err
	}
	if !isFragment(r) {
		return p.show(w, http.StatusOK, "verdict-page", verdict)
	}
	return p.show(w, http.StatusOK, "verdict", verdict)
}

// branches shows the ways through a chat.
func (p *Page) branches(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	var found transcript.Branches
	if err := p.chats.Query(r.Context(), k.Tenant, transcript.QueryBranches, transcript.BranchesRequest{Chat: k.Chat}, &found); err != nil {
		return err
	}
	if !isFragment(r) {
		return p.show(w, http.StatusOK, "branches-page", found)
	}
	return p.show(w, http.StatusOK, "branches", found)
}

// stored is a commit as it is stored, and what it says.
type stored struct {
	raw     json.RawMessage
	rev     uint64
	decoded events.Commit
	newer   bool
}

// commits hands over those behind a rev, up to another one, a few at a time: all of
// them may be very large.
func (p *Page) commits(ctx context.Context, k events.Key, after, through uint64, take func(stored)) error {
	for next := after; next < through; {
		question := transcript.CommitsRequest{Chat: k.Chat, After: next, Through: through, Limit: commitsAsked}
		var found transcript.Commits
		if err := p.chats.Query(ctx, k.Tenant, transcript.QueryCommits, question, &found); err != nil {
			return err
		}
		for i, raw := range found.Commits {
			c, err := events.Decode(raw)
			take(stored{raw: raw, rev: next + uint64(i) + 1, decoded: c, newer: err != nil})
		}
		if found.Next == 0 {
			return nil
		}
		next = found.Next
	}
	return nil
}

// lineOf is a commit as it stands among others. Before is the one before it, or nothing.
func lineOf(chat, look string, before, s stored) commit {
	c := commit{Rev: s.rev, Newer: s.newer, Link: momentLink(chat, s.rev, look)}
	if s.newer {
		return c
	}
	c.At, c.Events = s.decoded.At, typesOf(s.raw)
	if before.rev != 0 && !before.newer {
		c.Since = "+" + took(c.At.Sub(before.decoded.At))
	}
	return c
}

// commitOf is a commit that is looked at.
func commitOf(chat, look string, before, s stored) commit {
	c := lineOf(chat, look, before, s)
	c.Raw, c.Size, c.Hash = indented(s.raw), size(int64(len(s.raw))), events.Hash(s.raw)
	c.Cause, c.Prev, c.Events = s.decoded.Cause, s.decoded.Prev, eventsOf(s)
	return c
}
