package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// rank is where a chat stands in the list: when its newest commit was made and, since
// many have the same time, where that lies in the logs. No two commits have the same.
type rank struct {
	at       int64
	shard    int
	sequence int64
}

// compare orders the newest first.
func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.at, r.at), cmp.Compare(o.shard, r.shard), cmp.Compare(o.sequence, r.sequence))
}

// span is the part of a list that a page is of: as of when each stream had been read
// so far, and what is newer or older than a rank.
type span struct {
	asOf  []int64
	from  rank
	set   bool // from is one; else the list begins
	newer bool // what stands in front of from
	limit int
}

// ranked is a chat in its place.
type ranked struct {
	rank

	chat listing.Chat
}

// spanOf reads where a page begins. The list is as of what the file holds in the state
// that is read, or held when it was begun.
func spanOf(ctx context.Context, q inquiry[listing.ChatsRequest]) (span, error) {
	limit, err := checked(q.ask.V, q.ask.Limit)
	if err != nil {
		return span{}, err
	}
	if q.ask.After != "" && q.ask.Before != "" {
		return span{}, question.Refuse(events.CodeBadCommand, "after, before: one of them")
	}
	sp := span{limit: limit}
	if sp.asOf, err = q.positions(ctx); err != nil {
		return span{}, err
	}
	cursor := cmp.Or(q.ask.After, q.ask.Before)
	if cursor == "" {
		return sp, nil
	}
	list, err := parseNumbers(cursor, len(sp.asOf)+3)
	if err != nil {
		return span{}, err
	}
	sp.set, sp.newer = true, q.ask.Before != ""
	sp.from = rank{at: list[0], shard: int(list[1]), sequence: list[2]}
	for n, sequence := range list[3:] {
		if sequence > sp.asOf[n] { // another process named it, and is ahead of this one
			return span{}, &lateError{"the list was begun with what is not read here yet: ask again, or begin anew if the log was replaced"}
		}
		sp.asOf[n] = sequence
	}
	return sp, nil
}

// positions is how far each stream had been read.
func (q inquiry[Q]) positions(ctx context.Context) ([]int64, error) {
	rows, err := q.tx.QueryContext(ctx, `SELECT shard, sequence FROM positions`)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	defer rows.Close()
	list := make([]int64, q.shards)
	for rows.Next() {
		var shard int
		var sequence int64
		if err := rows.Scan(&shard, &sequence); err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		list[shard] = sequence
	}
	return list, rows.Err()
}

// cursor names a place in the list as of when it was begun.
func (sp span) cursor(r rank) listing.Cursor {
	return numbers(append([]int64{r.at, int64(r.shard), r.sequence}, sp.asOf...)...)
}

// chats lists the chats of a tenant.
//
// Most chats stand where they stood when the list was begun. Those that have moved
// since are looked up where they stood then, so each is met once.
func chats(ctx context.Context, q inquiry[listing.ChatsRequest]) (listing.Chats, error) {
	a := listing.Chats{Chats: []listing.Chat{}}
	if err := awaited(ctx, q); err != nil {
		return a, err
	}
	sp, err := spanOf(ctx, q)
	if err != nil {
		return a, err
	}
	where, args, err := filter(q)
	if err != nil {
		return a, err
	}
	list, err := still(ctx, q, sp, where, args)
	if err != nil {
		return a, err
	}
	if sp.set {
		since, err := movedSince(ctx, q, sp, where, args)
		if err != nil {
			return a, err
		}
		list = append(list, since...)
	}
	return sp.page(list)
}

// page is the part of the list that was asked for, of chats that are not sorted and
// may be one more than there is room for.
func (sp span) page(list []ranked) (listing.Chats, error) {
	a := listing.Chats{Chats: []listing.Chat{}}
	list = sp.nearest(list)
	more := len(list) > sp.limit
	list = list[:min(sp.limit, len(list))]
	for _, r := range list {
		a.Chats = append(a.Chats, r.chat)
	}
	n, err := fitting(a.Chats)
	if err != nil {
		return a, err
	}
	more, list, a.Chats = more || n < len(list), list[:n], a.Chats[:n]
	if sp.newer {
		slices.Reverse(list)
		slices.Reverse(a.Chats)
	}
	if len(list) == 0 {
		return a, nil
	}
	if sp.newer || more {
		a.Next = sp.cursor(list[len(list)-1].rank)
	}
	if sp.newer && more || !sp.newer && sp.set {
		a.Previous = sp.cursor(list[0].rank)
	}
	return a, nil
}

// nearest are as many of some chats as the page has room for, and one more, those that
// stand nearest to where it begins first.
func (sp span) nearest(list []ranked) []ranked {
	slices.SortFunc(list, func(x, y ranked) int {
		if sp.newer {
			return y.compare(x.rank)
		}
		return x.compare(y.rank)
	})
	return list[:min(sp.limit+1, len(list))]
}

// filter is what is asked of a chat besides its place.
func filter(q inquiry[listing.ChatsRequest]) (where string, args []any, err error) {
	conditions := []string{"gone = 0"}
	also := func(condition string, of ...any) {
		conditions, args = append(conditions, condition), append(args, of...)
	}
	if q.ask.Owner != "" {
		also("owner = ?", q.ask.Owner)
	}
	switch q.ask.Status {
	case "":
	case listing.StatusIdle, listing.StatusRunning, listing.StatusInterrupting, listing.StatusFailed:
		also("status = ?", string(q.ask.Status))
	default:
		return "", nil, question.Refuse(events.CodeBadCommand, "status: want idle, running, interrupting or failed")
	}
	if q.ask.Agent != "" {
		also("agent = ?", q.ask.Agent)
	}
	switch q.ask.Archived {
	case listing.ArchivedHidden:
		if q.ask.Chat == "" {
			also("archived = 0")
		}
	case listing.ArchivedOnly:
		also("archived = 1")
	case listing.ArchivedToo:
	default:
		return "", nil, question.Refuse(events.CodeBadCommand, "archived: want only, too, or nothing, which hides them")
	}
	switch {
	case q.ask.Parent != "":
		also("parent = ?", q.ask.Parent)
	case !q.ask.Children && q.ask.Chat == "":
		also("parent = ''")
	}
	if q.ask.Chat != "" {
		also("chat = ?", q.ask.Chat)
	}
	return strings.Join(conditions, " AND "), args, nil
}
