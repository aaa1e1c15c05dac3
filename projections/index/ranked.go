package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// still gives the chats of a page that have not moved since the list was begun, and one
// more if there is one.
func still(ctx context.Context, q inquiry[listing.ChatsRequest], sp span, where string, args []any) ([]ranked, error) {
	var text strings.Builder
	text.WriteString(`SELECT at, shard, sequence, state FROM chats WHERE tenant = ? AND ` + where)
	args = append([]any{q.tenant}, args...)
	order := "DESC"
	if sp.set {
		than := "<"
		if sp.newer {
			than, order = ">", "ASC"
		}
		text.WriteString(` AND (at, shard, sequence) ` + than + ` (?, ?, ?) AND sequence <= CASE shard`)
		args = append(args, sp.from.at, sp.from.shard, sp.from.sequence)
		for n, sequence := range sp.asOf {
			fmt.Fprintf(&text, " WHEN %d THEN ?", n)
			args = append(args, sequence)
		}
		text.WriteString(" END")
	}
	text.WriteString(strings.ReplaceAll(" ORDER BY at ?, shard ?, sequence ? LIMIT ", "?", order) + fmt.Sprint(sp.limit+1))
	rows, err := q.tx.QueryContext(ctx, text.String(), args...)
	if err != nil {
		return nil, fmt.Errorf("index: chats: %w", err)
	}
	defer rows.Close()
	var list []ranked
	for rows.Next() {
		var r ranked
		var state sql.RawBytes
		if err := rows.Scan(&r.at, &r.shard, &r.sequence, &state); err != nil {
			return nil, fmt.Errorf("index: chats: %w", err)
		}
		if r.chat, err = line(state); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// movedSince gives the chats of a page that have moved since the list was begun, in
// the places they had then, and one more if there is one. Those that were made since had
// none. All chats of a tenant may have moved, so no more are held than twice a page.
func movedSince(ctx context.Context, q inquiry[listing.ChatsRequest], sp span, where string, args []any) ([]ranked, error) {
	const text = `SELECT c.shard, c.state, p.at, p.sequence FROM chats AS c LEFT JOIN places AS p ON p.tenant = c.tenant AND p.chat = c.chat
		AND p.rev = (SELECT rev FROM places WHERE tenant = c.tenant AND chat = c.chat AND sequence <= ? ORDER BY rev DESC LIMIT 1)
		WHERE c.tenant = ? AND c.shard = ? AND c.sequence > ? AND c.chat IN (SELECT chat FROM chats WHERE tenant = c.tenant AND chat = c.chat AND `
	var list []ranked
	for shard, sequence := range sp.asOf {
		if err := func() error {
			rows, err := q.tx.QueryContext(ctx, text+where+")", append([]any{sequence, q.tenant, shard, sequence}, args...)...)
			if err != nil {
				return fmt.Errorf("index: chats: %w", err)
			}
			defer rows.Close()
			for rows.Next() {
				var r ranked
				var state sql.RawBytes
				var at, then sql.NullInt64
				if err := rows.Scan(&r.shard, &state, &at, &then); err != nil {
					return fmt.Errorf("index: chats: %w", err)
				}
				r.rank.at, r.rank.sequence = at.Int64, then.Int64
				if at.Valid && !sp.has(r.rank) {
					continue
				}
				if r.chat, err = line(state); err != nil {
					return err
				}
				switch {
				case at.Valid:
					if list = append(list, r); len(list) > 2*(sp.limit+1) {
						list = sp.nearest(list)
					}
				case r.chat.Rev > maxPlaces: // nobody knows any more where it stood, if it did
					return question.Refuse(events.CodeUnavailable, "too much has happened since the list was begun: begin anew")
				}
			}
			return rows.Err()
		}(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// has reports whether a rank is on the side of the list that is asked for.
func (sp span) has(r rank) bool {
	if sp.newer {
		return r.compare(sp.from) < 0
	}
	return r.compare(sp.from) > 0
}

// line is the line of a chat, from what is kept of it.
func line(state []byte) (listing.Chat, error) {
	var c chat
	if err := json.Unmarshal(state, &c); err != nil {
		return listing.Chat{}, fmt.Errorf("index: what is kept of a chat: %w", err)
	}
	return c.Chat, nil
}

// awaited is a [*lateError] unless a chat has come as far as the question wants.
func awaited(ctx context.Context, q inquiry[listing.ChatsRequest]) error {
	if q.ask.MinRev == 0 {
		return nil
	}
	if q.ask.Chat == "" {
		return question.Refuse(events.CodeBadCommand, "min_rev: of which chat?")
	}
	var state []byte
	err := q.tx.QueryRowContext(ctx, getChat, q.tenant, q.ask.Chat).Scan(&state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("index: chats: %w", err)
	}
	var c chat
	if err == nil {
		if err := json.Unmarshal(state, &c); err != nil {
			return fmt.Errorf("index: what is kept of a chat: %w", err)
		}
	}
	if !c.Gone && c.Rev < q.ask.MinRev {
		return &lateError{fmt.Sprintf("the chat has not reached rev %d", q.ask.MinRev)}
	}
	return nil
}
