package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// Limits of a search.
const (
	maxSearchWords = 16
	bytesBefore    = 80  // of what was said, in front of what was found first
	bytesShown     = 240 // from there on
)

// Marks around what was found, in what the file gives. No text that is kept has them.
const (
	markFound = "\x02"
	markEnd   = "\x03"
)

// search finds where something was said, the newest first: in the order of ids, which
// never change, so that pages neither repeat nor leave out.
func search(ctx context.Context, q inquiry[listing.SearchRequest]) (listing.Hits, error) {
	a := listing.Hits{Hits: []listing.Hit{}}
	limit, err := checked(q.ask.V, q.ask.Limit)
	if err != nil {
		return a, err
	}
	match, err := expression(q.ask.Text)
	if err != nil {
		return a, err
	}
	within := scope(q.tenant)
	if q.ask.Chat != "" {
		within = scopeOf(events.Key{Tenant: q.tenant, Chat: q.ask.Chat})
	}
	text := `SELECT s.id, s.chat, c.title, s.rev, s.at, s.turn, s.kind, s.by, s.inherited,
		highlight(words, 1, '` + markFound + `', '` + markEnd + `')
		FROM words JOIN said AS s ON s.id = words.rowid JOIN chats AS c ON c.tenant = s.tenant AND c.chat = s.chat
		WHERE words MATCH ? AND s.tenant = ?`
	args := []any{"scope : " + within + " AND text : (" + match + ")", q.tenant}
	if q.ask.Owner != "" {
		text, args = text+" AND c.owner = ?", append(args, q.ask.Owner)
	}
	switch q.ask.Kind {
	case "":
	case listing.KindUser, listing.KindAssistant, listing.KindTitle:
		text, args = text+" AND s.kind = ?", append(args, string(q.ask.Kind))
	default:
		return a, question.Refuse(events.CodeBadCommand, "kind: want user, assistant or title")
	}
	newer := q.ask.Before != ""
	order := " ORDER BY words.rowid DESC LIMIT "
	if newer {
		order = " ORDER BY words.rowid ASC LIMIT "
	}
	if cursor := cmp.Or(q.ask.After, q.ask.Before); cursor != "" {
		if q.ask.After != "" && newer {
			return a, question.Refuse(events.CodeBadCommand, "after, before: one of them")
		}
		from, err := parseNumbers(cursor, 1)
		if err != nil {
			return a, err
		}
		than := " AND words.rowid < ?"
		if newer {
			than = " AND words.rowid > ?"
		}
		text, args = text+than, append(args, from[0])
	}
	list, err := hits(ctx, q, text+order+fmt.Sprint(limit+1), args)
	if err != nil {
		return a, err
	}
	return hitsPage(list, limit, newer, cmp.Or(q.ask.After, q.ask.Before) != "")
}

// hit is a hit with its id.
type hit struct {
	id int64
	listing.Hit
}

func hits(ctx context.Context, q inquiry[listing.SearchRequest], text string, args []any) ([]hit, error) {
	rows, err := q.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, fmt.Errorf("index: search: %w", err)
	}
	defer rows.Close()
	var list []hit
	for rows.Next() {
		var h hit
		var whole, kind string
		if err := rows.Scan(&h.id, &h.Chat, &h.Title, &h.Rev, &h.At, &h.Turn, &kind, &h.By, &h.Inherited, &whole); err != nil {
			return nil, fmt.Errorf("index: search: %w", err)
		}
		h.Kind, h.Snippet = listing.Kind(kind), pieces(around(whole))
		list = append(list, h)
	}
	return list, rows.Err()
}

// hitsPage is a page of hits, of which there may be one more than there is room for.
func hitsPage(list []hit, limit int, newer, begun bool) (listing.Hits, error) {
	a := listing.Hits{Hits: []listing.Hit{}}
	more := len(list) > limit
	list = list[:min(limit, len(list))]
	n, err := fitting(list)
	if err != nil {
		return a, err
	}
	more, list = more || n < len(list), list[:n]
	if newer {
		slices.Reverse(list)
	}
	for _, h := range list {
		a.Hits = append(a.Hits, h.Hit)
	}
	if len(list) == 0 {
		return a, nil
	}
	if newer || more {
		a.Next = numbers(list[len(list)-1].id)
	}
	if newer && more || !newer && begun {
		a.Previous = numbers(list[0].id)
	}
	return a, nil
}

// around is what stands around the first thing that was found. The file could choose
// better words, and takes the square of their number for it.
func around(s string) string {
	first := max(strings.Index(s, markFound), 0)
	from := 0
	if first > bytesBefore {
		from = first - bytesBefore
		for !utf8.RuneStart(s[from]) {
			from++
		}
		if space := strings.IndexAny(s[from:first], " \n"); space >= 0 {
			from += space + 1
		}
	}
	shown := events.CutText(s[from:], bytesShown)
	if len(shown) < len(s)-from {
		if space := strings.LastIndexAny(shown, " \n"); from+space > first {
			shown = shown[:space+1]
		}
		shown += "…"
	}
	if from > 0 {
		shown = "…" + shown
	}
	return shown
}

// pieces are the parts of a snippet.
func pieces(s string) []listing.Piece {
	list := []listing.Piece{}
	add := func(text string, found bool) {
		if text != "" {
			list = append(list, listing.Piece{Text: text, Found: found})
		}
	}
	for s != "" {
		before, rest, marked := strings.Cut(s, markFound)
		add(before, false)
		if !marked {
			break
		}
		found, behind, _ := strings.Cut(rest, markEnd)
		add(found, true)
		s = behind
	}
	return list
}

// expression is what a person wants to find, as the file is asked for it: every word
// in quotes, so that none is taken for an operator.
func expression(text string) (string, error) {
	if len(text) > listing.MaxSearchBytes {
		return "", question.Refuse(events.CodeTooLarge, "text of %d bytes, at most %d are allowed", len(text), listing.MaxSearchBytes)
	}
	var words []string
	for n, piece := range strings.Split(events.RepairText(text), `"`) {
		if n%2 == 1 { // between quotes
			words = append(words, piece)
			continue
		}
		words = append(words, strings.Fields(piece)...)
	}
	var terms []string
	for _, word := range words {
		word, begins := strings.CutSuffix(strings.TrimSpace(word), "*")
		if !strings.ContainsFunc(word, isWord) {
			continue // nothing of it is kept to be found
		}
		term := `"` + word + `"`
		if begins {
			term += " *"
		}
		terms = append(terms, term)
	}
	switch {
	case len(terms) == 0:
		return "", question.Refuse(events.CodeBadCommand, "text: want at least one word of letters or digits")
	case len(terms) > maxSearchWords:
		return "", question.Refuse(events.CodeTooLarge, "text of %d words, at most %d are allowed", len(terms), maxSearchWords)
	}
	return strings.Join(terms, " AND "), nil
}

// isWord reports whether a character is of a word, as the file parts them.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.No, unicode.Nl, unicode.Co)
}
