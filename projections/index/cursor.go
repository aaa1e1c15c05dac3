package index

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// maxCursorBytes bounds a cursor: a place, and how far each of 256 streams was read.
const maxCursorBytes = 3 << 10

// numbers is a cursor made of numbers.
func numbers(list ...int64) listing.Cursor {
	var b []byte
	for _, n := range list {
		b = binary.AppendVarint(b, n)
	}
	return listing.Cursor(base64.RawURLEncoding.EncodeToString(b))
}

// parseNumbers reads such a cursor, of exactly that many.
func parseNumbers(c listing.Cursor, want int) ([]int64, error) {
	b, err := parseBytes(c)
	if err != nil {
		return nil, err
	}
	list := make([]int64, 0, want)
	for len(b) > 0 {
		n, size := binary.Varint(b)
		if size <= 0 || len(list) == want {
			return nil, badCursor()
		}
		list, b = append(list, n), b[size:]
	}
	if len(list) != want {
		return nil, badCursor()
	}
	return list, nil
}

func parseBytes(c listing.Cursor) ([]byte, error) {
	if len(c) > maxCursorBytes {
		return nil, badCursor()
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return nil, badCursor()
	}
	return b, nil
}

func badCursor() error {
	return question.Refuse(events.CodeBadCommand, "after, before: want a cursor that an answer to the same question named")
}

// separator stands before each text in a cursor, so that one of empty texts is not
// empty; no text that is kept has it.
const separator = "\x00"

// texts is a cursor made of texts.
func texts(list ...string) listing.Cursor {
	return listing.Cursor(base64.RawURLEncoding.EncodeToString([]byte(separator + strings.Join(list, separator))))
}

// parseTexts reads such a cursor, of exactly that many.
func parseTexts(c listing.Cursor, want int) ([]string, error) {
	b, err := parseBytes(c)
	if err != nil {
		return nil, err
	}
	list := strings.Split(string(b), separator)
	if len(list) != want+1 || list[0] != "" {
		return nil, badCursor()
	}
	return list[1:], nil
}
