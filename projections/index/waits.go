package index

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// ownedBy finds the chats of an owner, and those that work for them. No chat works for
// another in more than [events.MaxDepth] steps.
var ownedBy = `c.chat IN (WITH RECURSIVE family (chat, depth) AS (
		SELECT chat, 0 FROM chats WHERE tenant = ? AND owner = ? AND gone = 0
		UNION SELECT b.chat, family.depth + 1 FROM family JOIN chats AS b ON b.tenant = ? AND b.parent = family.chat
			WHERE family.depth < ` + strconv.Itoa(events.MaxDepth) + `
	) SELECT chat FROM family)`

// waits gives what waits for somebody in a tenant's chats. Since when it does never
// changes, so pages neither repeat nor leave out.
func waits(ctx context.Context, q inquiry[listing.OpenRequest]) (listing.Open, error) {
	a := listing.Open{Open: []listing.Waiting{}}
	limit, err := checked(q.ask.V, q.ask.Limit)
	if err != nil {
		return a, err
	}
	where, args := "o.tenant = ?", []any{q.tenant}
	also := func(condition string, of ...any) {
		where, args = where+" AND "+condition, append(args, of...)
	}
	if len(q.ask.Kinds) > 0 {
		kinds := make([]any, 0, len(q.ask.Kinds))
		for _, k := range q.ask.Kinds {
			switch k {
			case listing.OpenApproval, listing.OpenQuestion, listing.OpenClient, listing.OpenBudget, listing.OpenFailure:
				kinds = append(kinds, string(k))
			default:
				return a, question.Refuse(events.CodeBadCommand, "kinds: want approval, question, client, budget or failure")
			}
		}
		also("o.kind IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	}
	if q.ask.Chat != "" {
		also("o.chat = ?", q.ask.Chat)
	}
	if q.ask.Owner != "" {
		also(ownedBy, q.tenant, q.ask.Owner, q.tenant)
	}
	if q.ask.After != "" {
		after, err := parseTexts(q.ask.After, 4)
		if err != nil {
			return a, err
		}
		since, err := strconv.ParseInt(after[0], 10, 64)
		if err != nil {
			return a, badCursor()
		}
		also("(o.since, o.chat, o.kind, o.call) > (?, ?, ?, ?)", since, after[1], after[2], after[3])
	}
	rows, err := q.tx.QueryContext(ctx, `SELECT o.chat, o.kind, o.call, o.item, c.state FROM open AS o JOIN chats AS c ON c.tenant = o.tenant AND c.chat = o.chat
		WHERE `+where+` ORDER BY o.since, o.chat, o.kind, o.call LIMIT `+strconv.Itoa(limit+1), args...)
	if err != nil {
		return a, fmt.Errorf("index: open: %w", err)
	}
	defer rows.Close()
	var places []listing.Cursor
	for rows.Next() {
		var of, kind, call string
		var item, state []byte
		if err := rows.Scan(&of, &kind, &call, &item, &state); err != nil {
			return a, fmt.Errorf("index: open: %w", err)
		}
		w, err := waitsIn(state, item)
		if err != nil {
			return a, err
		}
		places = append(places, texts(strconv.FormatInt(int64(w.Since), 10), of, kind, call))
		a.Open = append(a.Open, w)
	}
	if err := rows.Err(); err != nil {
		return a, fmt.Errorf("index: open: %w", err)
	}
	n, err := fitting(a.Open[:min(limit, len(a.Open))])
	if n < len(a.Open) {
		a.Open, a.Next = a.Open[:n], places[max(n, 1)-1]
	}
	return a, err
}

// waitsIn is one thing that waits, in the chat that is kept so.
func waitsIn(state, item []byte) (listing.Waiting, error) {
	var o open
	c, err := line(state)
	if err == nil {
		err = json.Unmarshal(item, &o)
	}
	return listing.Waiting{
		Chat: c.Chat, Title: c.Title, Parent: c.Parent, Kind: o.Kind, Since: o.Since, Rev: o.Rev, Due: o.Due,
		Turn: o.Turn, Call: o.Call, Tool: o.Tool, Text: o.Text, Class: o.Class,
	}, err
}
