package events

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// VisibleText is text for a person who decides something by what stands there: it
// is repaired, and what nobody would see, or what would change the order in which
// the rest is read, stands as its number, as in <U+202E>. Joiners and marks of
// scripts that need them stay where they follow such a script.
func VisibleText(s string) string {
	s = RepairText(s)
	if !strings.ContainsFunc(s, isInvisible) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for _, r := range s {
		needed := belongs(r) && before >= utf8.RuneSelf && !isInvisible(before)
		if isInvisible(r) && !needed {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// isInvisible reports characters that leave no mark of their own. Two kinds are
// letters, or spaces as wide as none, to Unicode.
func isInvisible(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2028', '\u2029', '\u3164', '\uffa0':
		return true
	}
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r))
}

// belongs reports what honest text of some scripts, and of emoji, is full of.
func belongs(r rune) bool {
	switch r {
	case '\u200c', '\u200d', '\u200e', '\u200f', '\u061c':
		return true
	}
	return r >= '\ufe00' && r <= '\ufe0f'
}
