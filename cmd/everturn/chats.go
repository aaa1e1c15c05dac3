package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// pageFlags say how much of a list to print.
type pageFlags struct {
	Limit int  `default:"50" help:"How many at most; 0 is all."`
	JSON  bool `help:"Print each as one JSON object."`
}

// Validate is called by kong.
func (f pageFlags) Validate() error {
	if f.Limit < 0 {
		return fmt.Errorf("--limit: want 0 or more")
	}
	return nil
}

// all asks for page after page until there are as many as wanted, and gives each to
// show.
func all[R any](f pageFlags, ask func(after listing.Cursor, limit int) ([]R, listing.Cursor, error), show func(R) error) error {
	after := listing.Cursor("")
	for shown := 0; ; {
		limit := listing.MaxLimit
		if f.Limit > 0 {
			limit = min(limit, f.Limit-shown)
		}
		rows, next, err := ask(after, limit)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := show(r); err != nil {
				return err
			}
		}
		shown += len(rows)
		if next == "" || f.Limit > 0 && shown >= f.Limit {
			return nil
		}
		after = next
	}
}

// table prints rows in columns, or each as JSON.
type table struct {
	out  *tabwriter.Writer
	json *json.Encoder
}

func (s *surroundings) table(f pageFlags, header ...string) *table {
	t := &table{out: tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)}
	if f.JSON {
		t.json = json.NewEncoder(s.stdout)
		return t
	}
	fmt.Fprintln(t.out, strings.Join(header, "\t"))
	return t
}

// row prints one; its words may be anybody's.
func (t *table) row(row any, cells ...string) error {
	if t.json != nil {
		return t.json.Encode(row)
	}
	for n, c := range cells {
		cells[n] = events.VisibleText(strings.Join(strings.Fields(c), " "))
	}
	fmt.Fprintln(t.out, strings.Join(cells, "\t"))
	return nil
}

func localTime(t events.Time) string { return t.Time().Local().Format(time.DateTime) }

// chatsCommand is `everturn chats`.
type chatsCommand struct {
	remote
	pageFlags

	Owner    string `help:"Only those that this one made."`
	Status   string `enum:",idle,running,interrupting,failed" default:"" placeholder:"STATUS" help:"Only those that do this: idle, running, interrupting or failed."`
	Agent    string `help:"Only those of this agent."`
	Parent   string `placeholder:"CHAT" help:"Only those that work for calls of this chat."`
	Children bool   `help:"Those that work for others, too."`
	Archived bool   `help:"Those that are archived, too."`
}

// Run implements the command.
func (c *chatsCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		q := listing.ChatsRequest{Owner: c.Owner, Status: listing.Status(c.Status), Agent: c.Agent, Parent: c.Parent, Children: c.Children}
		if c.Archived {
			q.Archived = listing.ArchivedToo
		}
		t := s.table(c.pageFlags, "CHAT", "AT", "STATUS", "OPEN", "MESSAGES", "OWNER", "AGENT", "TITLE")
		err := all(c.pageFlags, func(after listing.Cursor, limit int) ([]listing.Chat, listing.Cursor, error) {
			q.After, q.Limit = after, limit
			a, err := cl.Chats(ctx, q)
			return a.Chats, a.Next, err
		}, func(r listing.Chat) error {
			status := string(r.Status)
			if r.Archived {
				status += ", archived"
			}
			return t.row(r, r.Chat, localTime(r.At), status, strconv.Itoa(r.OpenCount), strconv.Itoa(r.MessageCount), r.Owner, r.Agent, r.Title)
		})
		if err != nil {
			return err
		}
		return t.out.Flush()
	})
}

// searchCommand is `everturn search`.
type searchCommand struct {
	remote
	pageFlags

	In    chatName `placeholder:"CHAT" help:"Only in this chat."`
	Owner string   `help:"Only in chats that this one made."`
	Kind  string   `enum:",user,assistant,title" default:"" placeholder:"KIND" help:"Only this: user, assistant or title."`
	Text  []string `arg:"" help:"Words that must all stand there; in quotes of its own a phrase, with * at its end the beginning of a word."`
}

// Run implements the command.
func (c *searchCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		q := listing.SearchRequest{Text: strings.Join(c.Text, " "), Chat: string(c.In), Owner: c.Owner, Kind: listing.Kind(c.Kind)}
		t := s.table(c.pageFlags, "CHAT", "REV", "AT", "WHO", "TEXT")
		err := all(c.pageFlags, func(after listing.Cursor, limit int) ([]listing.Hit, listing.Cursor, error) {
			q.After, q.Limit = after, limit
			a, err := cl.Search(ctx, q)
			return a.Hits, a.Next, err
		}, func(r listing.Hit) error {
			var text strings.Builder
			for _, p := range r.Snippet {
				text.WriteString(p.Text)
			}
			return t.row(r, r.Chat, strconv.FormatUint(r.Rev, 10), localTime(r.At), string(r.Kind), text.String())
		})
		if err != nil {
			return err
		}
		return t.out.Flush()
	})
}

// openCommand is `everturn open`.
type openCommand struct {
	remote
	pageFlags

	In    chatName `placeholder:"CHAT" help:"Only in this chat."`
	Owner string   `help:"Only in chats that this one made, and in those that work for them."`
	Kinds []string `enum:"approval,question,client,budget,failure" placeholder:"KIND,..." help:"Only these: approval, question, client, budget, failure."`
}

// Run implements the command.
func (c *openCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		q := listing.OpenRequest{Chat: string(c.In), Owner: c.Owner}
		for _, k := range c.Kinds {
			q.Kinds = append(q.Kinds, listing.OpenKind(k))
		}
		t := s.table(c.pageFlags, "CHAT", "SINCE", "WHAT", "CALL", "UNTIL", "ABOUT")
		err := all(c.pageFlags, func(after listing.Cursor, limit int) ([]listing.Waiting, listing.Cursor, error) {
			q.After, q.Limit = after, limit
			a, err := cl.Open(ctx, q)
			return a.Open, a.Next, err
		}, func(r listing.Waiting) error {
			call, due := "", ""
			if r.Call != nil {
				call = r.Call.String()
			}
			if r.Due != 0 {
				due = localTime(r.Due)
			}
			return t.row(r, r.Chat, localTime(r.Since), string(r.Kind), call, due, strings.TrimSpace(r.Tool+" "+r.Text))
		})
		if err != nil {
			return err
		}
		return t.out.Flush()
	})
}
