package tools

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// glob is a pattern of paths. A pattern without a slash is one of names, in any folder.
//
// It is an expression of RE2, which takes time in proportion to the path, whatever a
// model comes up with.
type glob struct {
	expression *regexp.Regexp
	names      bool
}

// parseGlob reads a pattern: * is any part of a name, ** any folders, ? one character,
// [a-z] one of some, {a,b} one or the other, and \ takes the meaning away.
func parseGlob(pattern string) (glob, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	open := 0
	for rest := pattern; rest != ""; {
		var piece string
		var err error
		piece, rest, err = nextOfGlob(rest, &open)
		if err != nil {
			return glob{}, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		b.WriteString(piece)
	}
	if open > 0 {
		return glob{}, fmt.Errorf("pattern %q: a { has no }", pattern)
	}
	b.WriteString(`\z`)
	expression, err := regexp.Compile(b.String())
	if err != nil {
		return glob{}, fmt.Errorf("pattern %q: this is no pattern of file names", pattern)
	}
	return glob{expression: expression, names: !strings.Contains(pattern, "/")}, nil
}

// nextOfGlob is the expression for the beginning of a pattern, and the rest.
func nextOfGlob(pattern string, open *int) (expression, rest string, err error) {
	switch {
	case strings.HasPrefix(pattern, "**/"):
		return `(?:[^/]+/)*`, pattern[3:], nil
	case strings.HasPrefix(pattern, "**"):
		return `.*`, pattern[2:], nil
	}
	switch c := pattern[0]; {
	case c == '*':
		return `[^/]*`, pattern[1:], nil
	case c == '?':
		return `[^/]`, pattern[1:], nil
	case c == '{':
		*open++
		return `(?:`, pattern[1:], nil
	case c == '}' && *open > 0:
		*open--
		return `)`, pattern[1:], nil
	case c == ',' && *open > 0:
		return `|`, pattern[1:], nil
	case c == '[':
		end := strings.IndexByte(pattern[1:], ']')
		if end < 1 {
			return "", "", errors.New("a [ has no ]")
		}
		class := strings.NewReplacer(`[`, `\[`, `\`, `\\`, `&`, `\&`).Replace(pattern[1 : end+1])
		if after, not := strings.CutPrefix(class, "!"); not {
			class = "^/" + after
		}
		return `[` + class + `]`, pattern[end+2:], nil
	case c == '\\' && len(pattern) > 1:
		return regexp.QuoteMeta(pattern[1:2]), pattern[2:], nil
	}
	end := 1
	for end < len(pattern) && !strings.ContainsRune(`*?[{},\`, rune(pattern[end])) {
		end++
	}
	return regexp.QuoteMeta(pattern[:end]), pattern[end:], nil
}

// matches says whether a path, relative to the folder that was asked for, is one of the
// pattern.
func (g glob) matches(file string) bool {
	if g.names {
		file = path.Base(file)
	}
	return g.expression.MatchString(file)
}
