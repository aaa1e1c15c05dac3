package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Problem is one thing wrong with a file.
type Problem struct {
	Line    int // from 1; 0 if it is not known
	Column  int
	Message string
}

// Error is everything that is wrong with a file.
type Error struct {
	Name     string
	Problems []Problem // sorted by line
	lines    []string  // of the file, as they may be shown
}

// Line is the line of a problem as it may be shown; empty if there is none.
func (e *Error) Line(p Problem) string {
	if p.Line < 1 || p.Line > len(e.lines) {
		return ""
	}
	return e.lines[p.Line-1]
}

// Error gives for each problem file:line:column, what is wrong, and the line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Name)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": " + p.Message)
		line := e.Line(p)
		if line == "" {
			continue
		}
		number := strconv.Itoa(p.Line)
		fmt.Fprintf(&b, "\n  %s | %s", number, line)
		if p.Column <= len(line) {
			fmt.Fprintf(&b, "\n  %s | %s^", strings.Repeat(" ", len(number)), strings.Repeat(" ", max(p.Column-1, 0)))
		}
	}
	return b.String()
}

func (e *Error) sort() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// decoding is the decoder's error as a problem.
func decoding(err error) Problem {
	at, ok := errors.AsType[yaml.Error](err)
	if !ok || at.GetToken() == nil {
		return Problem{Message: err.Error()}
	}
	pos := at.GetToken().Position
	p := Problem{Line: pos.Line, Column: pos.Column, Message: at.GetMessage()}
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		p.Message = "want " + kind(wrong.DstType) // not the names of our types
	}
	if wrong, ok := errors.AsType[*yaml.UnexpectedNodeTypeError](err); ok {
		p.Message = "want " + shape(wrong.Expected) + ", and this is " + shape(wrong.Actual) // nor those of the library's
	}
	return p
}

// noYAML is what is said where nothing better can be.
const noYAML = "this is no YAML"

// withoutValues is a message of the library without what it repeats of the file,
// unless that is the name of a key, and looks like one: of odd YAML any text can be.
func withoutValues(message string) string {
	before, rest, _ := strings.Cut(message, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	aboutKey := strings.HasPrefix(message, "unknown field ") || strings.HasPrefix(message, "mapping key ")
	if aboutKey && !strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) }) {
		return message
	}
	return cmp.Or(strings.TrimRight(before, ": "), noYAML)
}

// shape is what people call a part of a file.
func shape(n ast.NodeType) string {
	switch n { //nolint:exhaustive // people have no word for the others
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "keys and values"
	case ast.StringType, ast.LiteralType:
		return "a text"
	case ast.NullType:
		return "nothing"
	}
	return "one value"
}

func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return kind(t.Elem())
	}
	return "keys and values"
}
