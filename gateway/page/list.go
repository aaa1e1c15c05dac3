package page

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// listPage is the list of chats, or what a search found.
type listPage struct {
	Tenant   string
	By       string
	LoggedIn bool // by a token, which can be forgotten
	Query    string
	Archived bool
	Days     []day
	Hits     []listing.Hit
	Open     []listing.Waiting
	Newer    string // where the page before this one is
	Older    string // where the next is
	Empty    bool
	Trouble  *trouble // why there is no list: new chats can be made nevertheless
}

// day is the chats of a day.
type day struct {
	Name  string
	Chats []listing.Chat
}

const (
	listLimit = 50 // chats of a page
	openLimit = 20 // things that wait, above the list
)

// list shows the chats of whoever asks, or finds them.
func (p *Page) list(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	asked := r.URL.Query()
	shown := listPage{
		Tenant: who.Tenant, By: who.By, LoggedIn: who.Token != "", Query: strings.TrimSpace(asked.Get("q")), Archived: asked.Get("archived") == "only",
	}
	var err error
	if shown.Query != "" {
		err = p.search(r, who, &shown)
	} else {
		err = p.chatsOf(r, who, &shown)
	}
	if err != nil {
		t := p.troubleOf(r, err)
		shown.Trouble = &t
	}
	shown.Empty = err == nil && len(shown.Days) == 0 && len(shown.Hits) == 0
	name := "list"
	if isFragment(r) {
		name = "results"
	}
	return p.show(w, http.StatusOK, name, shown)
}

func (p *Page) chatsOf(r *http.Request, who identity.Identity, shown *listPage) error {
	asked := r.URL.Query()
	question := listing.ChatsRequest{
		After: listing.Cursor(asked.Get("after")), Before: listing.Cursor(asked.Get("before")), Limit: listLimit,
	}
	if shown.Archived {
		question.Archived = listing.ArchivedOnly
	}
	var chats listing.Chats
	if err := p.chats.Query(r.Context(), who.Tenant, listing.QueryChats, question, &chats); err != nil {
		return err
	}
	shown.Days = days(chats.Chats)
	shown.Newer, shown.Older = cursor(asked, "before", chats.Previous), cursor(asked, "after", chats.Next)
	if question.After == "" && question.Before == "" && !shown.Archived {
		var open listing.Open
		if err := p.chats.Query(r.Context(), who.Tenant, listing.QueryOpen, listing.OpenRequest{Limit: openLimit}, &open); err != nil {
			return err
		}
		shown.Open = open.Open
	}
	return nil
}

func (p *Page) search(r *http.Request, who identity.Identity, shown *listPage) error {
	asked := r.URL.Query()
	question := listing.SearchRequest{
		Text: shown.Query, After: listing.Cursor(asked.Get("after")), Before: listing.Cursor(asked.Get("before")), Limit: listLimit,
	}
	var hits listing.Hits
	if err := p.chats.Query(r.Context(), who.Tenant, listing.QuerySearch, question, &hits); err != nil {
		return err
	}
	shown.Hits = hits.Hits
	shown.Newer, shown.Older = cursor(asked, "before", hits.Previous), cursor(asked, "after", hits.Next)
	return nil
}

// cursor is the address of another page of the same list; empty if there is none.
func cursor(asked url.Values, name string, c listing.Cursor) string {
	if c == "" {
		return ""
	}
	to := url.Values{name: {string(c)}}
	for _, kept := range []string{"q", "archived"} {
		if value := asked.Get(kept); value != "" {
			to.Set(kept, value)
		}
	}
	return "/?" + to.Encode()
}

// days puts chats under the days on which they changed last, as they come.
func days(chats []listing.Chat) []day {
	var list []day
	for _, c := range chats {
		name := c.At.Time().Format("Monday, 2 January 2006")
		if n := len(list); n == 0 || list[n-1].Name != name {
			list = append(list, day{Name: name})
		}
		last := &list[len(list)-1]
		last.Chats = append(last.Chats, c)
	}
	return list
}

// maxFormBytes bounds what a form may bring: no command is larger.
const maxFormBytes = 2 * protocol.MaxCommandBytes // as a form, some bytes are three

// create makes a chat, and says the first thing in it. The form brings the id of the
// chat: sent twice it is one chat.
func (p *Page) create(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	if err := form(w, r); err != nil {
		return err
	}
	k := events.Key{Tenant: who.Tenant, Chat: commandID(r.PostForm.Get("id"))}
	settings := events.Settings{Agent: strings.TrimSpace(r.PostForm.Get("agent"))}
	reply, err := p.chats.Command(r.Context(), k, who.By, k.Chat, protocol.Create{V: protocol.Version, Settings: settings})
	if err == nil && !reply.OK && reply.Code != events.CodeExists {
		err = refused(reply)
	}
	if err != nil {
		return err
	}
	if text := r.PostForm.Get("text"); strings.TrimSpace(text) != "" {
		send := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(lines(text))}}
		reply, err = p.chats.Command(r.Context(), k, who.By, second(k.Chat), send)
		if err == nil && !reply.OK {
			err = refused(reply)
		}
		if err != nil {
			return err
		}
	}
	return elsewhere(w, r, "/c/"+k.Chat)
}

// commandID is the id that a form brings, or else a new one.
func commandID(given string) string {
	if id, err := ulid.ParseStrict(given); err == nil && id.String() == given {
		return given
	}
	return ulid.Make().String()
}

// second is the id of the second command of a form that brings one id: another one,
// and always the same.
func second(first string) string {
	id := ulid.MustParseStrict(first)
	id[len(id)-1] ^= 1
	return id.String()
}

// form reads a form whose size is bounded.
func form(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		return trouble{Status: http.StatusBadRequest, Title: "This form cannot be read", Detail: "It may be too large."}
	}
	return nil
}

// lines is a text of a form with the line breaks that everybody else has.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// elsewhere sends the browser to another page.
func elsewhere(w http.ResponseWriter, r *http.Request, address string) error {
	if isFragment(r) {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// clock is a time as the page writes it, until the browser writes it in its own zone.
func clock(t events.Time) string { return t.Time().Format(time.DateTime) + " UTC" }
