package mcp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// problems are those of one file.
type problems struct {
	path    string
	content []byte
	found   []problem
}

// problem is one thing wrong with a file.
type problem struct {
	offset  int
	message string
}

// at notes what is wrong with the value that a JSON pointer names, or with the
// nearest one around it.
func (p *problems) at(where, format string, args ...any) {
	p.found = append(p.found, problem{offset: p.offset(where), message: name(where) + fmt.Sprintf(format, args...)})
}

// add notes the error of decoding.
func (p *problems) add(err error) {
	if one, ok := errors.AsType[*decodingError](err); ok {
		p.found = append(p.found, one.problem)
	}
}

// err is all that is wrong, or nil.
func (p *problems) err() error {
	slices.SortStableFunc(p.found, func(a, b problem) int { return cmp.Compare(a.offset, b.offset) })
	var errs []error
	for _, one := range p.found {
		errs = append(errs, fmt.Errorf("%s:%s: %s", p.path, p.position(one.offset), one.message))
	}
	return errors.Join(errs...)
}

// sameNames notes servers whose tools would have the same names.
func (p *problems) sameNames(servers []Server) {
	first := map[string]string{}
	for _, s := range servers {
		short := prefix(s.Name)
		if other, twice := first[short]; twice {
			p.at(pointer("/mcpServers", s.Name), "its tools would have the same names as those of %.40q", other)
		}
		first[short] = s.Name
	}
}

// decodingError is a problem before it is known what else there is.
type decodingError struct {
	path     string
	position string
	problem
}

func (e *decodingError) Error() string {
	return fmt.Sprintf("%s:%s: %s", e.path, e.position, e.message)
}

// decoding is an error of the decoder, of the value that lies where, as a problem. What
// it says of a value is left out: that may be a secret.
func (p *problems) decoding(err error, where string) error {
	found := problem{offset: p.offset(where), message: name(where) + "this is no JSON"}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		inside := where + string(wrong.JSONPointer)
		found = problem{offset: p.offset(inside), message: name(inside) + "want " + kindOf(wrong)}
		if errors.Is(err, json.ErrUnknownName) {
			found.message = name(inside) + "there is no such field"
		}
	}
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		found = problem{offset: int(wrong.ByteOffset), message: "this is no JSON"}
		if errors.Is(err, jsontext.ErrDuplicateName) {
			found = problem{offset: p.offset(string(wrong.JSONPointer)), message: name(string(wrong.JSONPointer)) + "this name stands twice"}
		}
	}
	return &decodingError{path: p.path, position: p.position(found.offset), problem: found}
}

// kindOf says what should have been there.
func kindOf(wrong *json.SemanticError) string {
	if wrong.GoType == nil {
		return "something else"
	}
	switch text := wrong.GoType.String(); {
	case strings.HasSuffix(text, "Duration"):
		return "a time such as 90s or 5m"
	case text == "string", strings.HasSuffix(text, "Policy"):
		return "a text"
	case text == "bool":
		return "true or false"
	case strings.HasPrefix(text, "[]"):
		return "a list of texts"
	}
	return "an object"
}

// name is the field that a pointer means, as it stands before what is wrong with it.
func name(where string) string {
	where = strings.TrimPrefix(where, "/mcpServers")
	if where == "" {
		return ""
	}
	var parts []string
	for part := range jsontext.Pointer(where).Tokens() {
		parts = append(parts, part)
	}
	return strings.Join(parts, ".") + ": "
}

// pointer is that of a member.
func pointer(to, member string) string {
	return string(jsontext.Pointer(to).AppendToken(member))
}

// offset is where the value stands that a pointer names, or the nearest around it that
// there is.
func (p *problems) offset(where string) int {
	best, length := 0, -1
	d := jsontext.NewDecoder(bytes.NewReader(p.content), jsontext.AllowDuplicateNames(true))
	for {
		before := d.InputOffset()
		if _, err := d.ReadToken(); err != nil {
			return best
		}
		here := string(d.StackPointer())
		if len(here) > length && (here == where || strings.HasPrefix(where, here+"/") || here == "") {
			best, length = int(before)+p.blank(int(before)), len(here)
		}
		if here == where && length == len(where) && where != "" {
			return best
		}
	}
}

// blank counts what stands between one token and the next.
func (p *problems) blank(from int) int {
	rest := p.content[from:]
	return len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
}

// position is an offset as line:column, both from 1.
func (p *problems) position(offset int) string {
	before := p.content[:min(max(offset, 0), len(p.content))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("%d:%d", line, column)
}

// members gives those of a valid object, in its order.
func members(object jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := d.ReadValue()
			if err != nil || !yield(key, bytes.Clone(value)) {
				return
			}
		}
	}
}
