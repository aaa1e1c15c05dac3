package events

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Replacement stands where a character could not be kept.
const Replacement = "\uFFFD"

// RepairText makes s fit for the log, every reader and every provider: valid
// UTF-8, no NUL and no terminal control. Line break and tab stay; a carriage
// return stays only before a line break. It is applied once, before the commit,
// so that log, watchers and model read the same text. Repairing twice changes
// nothing more.
func RepairText(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				b.WriteRune(r)
			} else {
				b.WriteByte('\n')
			}
		case isControl(r), r == utf8.RuneError:
			b.WriteString(Replacement)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// clean is the common case: nothing to repair, nothing to allocate.
func clean(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= utf8.RuneSelf {
			return cleanRunes(s[i:])
		}
	}
	return true
}

func cleanRunes(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i, r := range s {
		if isControl(r) && r != '\n' && r != '\t' && (r != '\r' || i+1 >= len(s) || s[i+1] != '\n') {
			return false
		}
	}
	return true
}

// isControl reports C0, DEL and C1: what a terminal may take as an order.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// CutText is the beginning of s, of at most limit bytes, without half a
// character at its end.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// tailShare says which part of what is left of a cut text comes from its end: a
// third. Who speaks says what it is about first and how it went last; the middle is
// what one can miss.
const tailShare = 3

// CutMiddle is s with its middle cut out so that it has at most limit bytes,
// marker included. The marker is made from the number of bytes that are gone.
// A text that fits is left alone.
func CutMiddle(s string, limit int, marker func(gone int) string) string {
	if len(s) <= limit {
		return s
	}
	room := limit - len(marker(len(s))) // no number is longer than this one
	if room <= 0 {
		return CutText(s, limit)
	}
	tail := room / tailShare
	head := CutText(s, room-tail)
	start := len(s) - tail
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return head + marker(start-len(head)) + s[start:]
}

// Shorten is s, or its beginning with a sign that there was more: at most limit
// characters in all.
func Shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// IsObject reports whether s is one JSON object, which is all a provider takes
// as the arguments of a call.
func IsObject(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") && json.Valid([]byte(s))
}
