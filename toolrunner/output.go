package toolrunner

import (
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
)

// headShare is how much of a cut text its beginning gets, in thirds. Tools say
// what they do first and how it went last; the middle is what one can miss.
const (
	headShare = 2
	shares    = 3
)

// cutMiddle is text with its middle cut out so that it has at most limit bytes,
// marker included. The marker is made from the number of bytes that are gone.
// A text that fits is left alone.
func cutMiddle(text string, limit int, marker func(gone int) string) string {
	if len(text) <= limit {
		return text
	}
	room := limit - len(marker(len(text))) // no number is longer than this one
	if room <= 0 {
		return events.CutText(text, limit)
	}
	tail := room / shares
	head := events.CutText(text, room-tail)
	end := cutTail(text, tail)
	return head + marker(len(text)-len(head)-len(end)) + end
}

// cutTail is the end of text, of at most limit bytes, without half a character.
func cutTail(text string, limit int) string {
	start := max(len(text)-limit, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// cutMarker says what is missing and where the whole is. It is read by models
// and by people.
func cutMarker(total int, whole events.Digest, stored int) func(gone int) string {
	where := "the whole could not be stored"
	switch {
	case whole != "" && stored < total:
		where = fmt.Sprintf("the first %d bytes are stored as %s", stored, whole)
	case whole != "":
		where = "the whole is stored as " + string(whole)
	}
	return func(gone int) string {
		return fmt.Sprintf("\n\n[%d of %d bytes were cut out here; %s]\n\n", gone, total, where)
	}
}
