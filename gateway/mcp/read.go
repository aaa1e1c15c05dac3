package mcp

import (
	"context"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
)

// Limits of a page.
const (
	defaultLimit    = 20
	maxLimit        = 100
	maxMessageBytes = 16 << 10 // of one message in a transcript
)

// paged is where a page begins, and how long it is.
type paged struct {
	After string `json:"after,omitempty" jsonschema:"The next of an answer."`
	Limit int    `json:"limit,omitempty" jsonschema:"How many at most, 1 to 100; 20 if left out."`
}

// limit is how many are wanted.
func limit(n int) (int, error) {
	if n < 0 || n > maxLimit {
		return 0, bad("limit: want 1 to 100")
	}
	if n == 0 {
		return defaultLimit, nil
	}
	return n, nil
}

type listInput struct {
	Archived bool `json:"archived,omitempty" jsonschema:"Archived ones, too."`
	paged
}

// List is a page of chats.
type List struct {
	Chats []Chat `json:"chats"`
	Next  string `json:"next,omitempty" jsonschema:"For the argument after; none if this is the last page."`
}

// Chat is a line of it.
type Chat struct {
	Chat     string `json:"chat"`
	Title    string `json:"title,omitempty"`
	Status   string `json:"status" jsonschema:"idle, running, interrupting or failed"`
	At       string `json:"at" jsonschema:"When something happened in it last."`
	Messages int    `json:"messages"`
	Waits    int    `json:"waits,omitempty" jsonschema:"How much in it waits for a person."`
}

// list gives a page of the tenant's chats.
func (c caller) list(ctx context.Context, _ call, in listInput) (List, error) {
	n, err := limit(in.Limit)
	if err != nil {
		return List{}, err
	}
	q := listing.ChatsRequest{After: listing.Cursor(in.After), Limit: n}
	if in.Archived {
		q.Archived = listing.ArchivedToo
	}
	var page listing.Chats
	if err := c.cfg.Chats.Query(ctx, c.Tenant, listing.QueryChats, q, &page); err != nil {
		return List{}, err
	}
	out := List{Chats: []Chat{}, Next: string(page.Next)}
	for _, one := range page.Chats {
		out.Chats = append(out.Chats, Chat{
			Chat: one.Chat, Title: one.Title, Status: string(one.Status), At: one.At.String(), Messages: one.MessageCount, Waits: one.OpenCount,
		})
	}
	return out, nil
}

type searchInput struct {
	Text string `json:"text" jsonschema:"Words to find."`
	Chat string `json:"chat,omitempty" jsonschema:"Only in this chat."`
	paged
}

// Hits is a page of what was found.
type Hits struct {
	Hits []Hit  `json:"hits"`
	Next string `json:"next,omitempty" jsonschema:"For the argument after; none if this is the last page."`
}

// Hit is one place where it was said.
type Hit struct {
	Chat    string `json:"chat"`
	Title   string `json:"title,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	Kind    string `json:"kind" jsonschema:"user, assistant or title"`
	At      string `json:"at"`
	Snippet string `json:"snippet"`
}

// search gives a page of where words were said.
func (c caller) search(ctx context.Context, _ call, in searchInput) (Hits, error) {
	n, err := limit(in.Limit)
	if err != nil {
		return Hits{}, err
	}
	q := listing.SearchRequest{Text: in.Text, Chat: in.Chat, After: listing.Cursor(in.After), Limit: n}
	var page listing.Hits
	if err := c.cfg.Chats.Query(ctx, c.Tenant, listing.QuerySearch, q, &page); err != nil {
		return Hits{}, err
	}
	out := Hits{Hits: []Hit{}, Next: string(page.Next)}
	for _, one := range page.Hits {
		var words strings.Builder
		for _, p := range one.Snippet {
			words.WriteString(p.Text)
		}
		out.Hits = append(out.Hits, Hit{
			Chat: one.Chat, Title: one.Title, Turn: one.Turn, Kind: string(one.Kind), At: one.At.String(), Snippet: words.String(),
		})
	}
	return out, nil
}

type readInput struct {
	Chat  string `json:"chat" jsonschema:"Which chat."`
	After int    `json:"after,omitempty" jsonschema:"Messages with a higher number; the next of an answer."`
	Limit int    `json:"limit,omitempty" jsonschema:"How many at most, 1 to 100; 20 if left out."`
}

// Transcript is a page of a chat.
type Transcript struct {
	Chat     string    `json:"chat"`
	Title    string    `json:"title,omitempty"`
	Status   string    `json:"status" jsonschema:"idle, running, interrupting or failed"`
	Turn     int       `json:"turn,omitempty" jsonschema:"The newest."`
	Messages []Message `json:"messages"`
	Next     int       `json:"next,omitempty" jsonschema:"For the argument after; none if this is the last page."`
}

// Message is something that somebody said.
type Message struct {
	N     int      `json:"n"`
	Turn  int      `json:"turn"`
	Role  string   `json:"role" jsonschema:"user or assistant"`
	At    string   `json:"at"`
	Text  string   `json:"text,omitempty"`
	Cut   bool     `json:"cut,omitempty" jsonschema:"text is not the whole."`
	Calls []Called `json:"calls,omitempty"`
}

// Called is a call of a tool, and what it came to.
type Called struct {
	Call      string `json:"call"`
	Tool      string `json:"tool"`
	Status    string `json:"status"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
}

// read gives a page of a transcript.
func (c caller) read(ctx context.Context, _ call, in readInput) (Transcript, error) {
	n, err := limit(in.Limit)
	if err != nil {
		return Transcript{}, err
	}
	if in.After < 0 {
		return Transcript{}, bad("after: want the number of a message")
	}
	k := events.Key{Tenant: c.Tenant, Chat: in.Chat}
	if err := k.Validate(); err != nil {
		return Transcript{}, bad(err.Error())
	}
	var page transcript.Page
	q := transcript.Request{Chat: in.Chat, After: in.After, Limit: n}
	if err := c.cfg.Chats.Query(ctx, c.Tenant, transcript.QueryPage, q, &page); err != nil {
		return Transcript{}, err
	}
	out := Transcript{Chat: page.Chat, Title: page.Title, Status: string(page.Status), Turn: page.Turn, Messages: []Message{}, Next: page.Next}
	for _, m := range page.Messages {
		out.Messages = append(out.Messages, shown(m))
	}
	return out, nil
}

// shown is a message as it is told.
func shown(m transcript.Message) Message {
	out := Message{N: m.N, Turn: m.Turn, Role: string(m.Role), At: m.At.String()}
	var text strings.Builder
	for _, p := range m.Parts {
		switch {
		case p.Type == events.PartText:
			text.WriteString(p.Text)
			out.Cut = out.Cut || p.Truncated
		case p.Type == events.PartCall && p.Call != nil:
			called := Called{
				Call: p.Call.ID.String(), Tool: p.Name, Status: string(p.Call.Status), Arguments: events.CutText(p.Arguments, maxArgumentsBytes),
			}
			for _, r := range p.Call.Result {
				called.Result += r.Text
			}
			called.Result = events.CutText(called.Result, maxArgumentsBytes)
			out.Calls = append(out.Calls, called)
		}
	}
	out.Text = events.CutText(text.String(), maxMessageBytes)
	out.Cut = out.Cut || text.Len() > maxMessageBytes
	return out
}
