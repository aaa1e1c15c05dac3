// Package yamlfile reads YAML files that people write. It is strict, and it says
// of each problem where it is: file:line:column, what is wrong, and the line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// File is a file that could be read, and what is wrong with it all the same.
type File struct {
	tree *ast.File
	err  *Error
}

// Read decodes a file. An unknown key, a key given twice and a wrong type are an
// [*Error]; an empty file is a zero value. Errors show lines as shown gives them,
// and then no value either; without it, as they are.
func Read(name string, source []byte, into any, shown func(line string) string) (*File, error) {
	f, err := ReadOn(name, source, into, shown)
	if err == nil {
		err = f.Err()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadOn is [Read] that goes on beyond unknown keys: they are then what is wrong with
// the file, which [File.Err] tells with all the rest.
func ReadOn(name string, source []byte, into any, shown func(line string) string) (*File, error) {
	lines := strings.Split(string(source), "\n")
	if shown != nil {
		for i, line := range lines {
			lines[i] = shown(line)
		}
	}
	f := &File{err: &Error{Name: name, lines: lines}}
	p, err := f.decode(source, into)
	if err != nil && !errors.Is(err, io.EOF) {
		found := decoding(err)
		p = &found
	}
	if p != nil {
		f.err.Problems = append(f.err.Problems, *p)
	}
	if shown != nil {
		for i, p := range f.err.Problems {
			f.err.Problems[i].Message = withoutValues(p.Message)
		}
	}
	if p != nil {
		return nil, f.Err()
	}
	return f, nil
}

// decode reads the file, unless there is a problem with it already. There are texts that the library panics on.
func (f *File) decode(source []byte, into any) (_ *Problem, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(noYAML)
		}
	}()
	if f.tree, err = parser.ParseBytes(source, 0); err != nil {
		return nil, err
	}
	if odd := oddity(f.tree); odd != nil {
		return odd, nil
	}
	f.err.Problems = unknown(f.tree, into)
	if len(f.err.Problems) > 0 {
		return nil, yaml.NewDecoder(bytes.NewReader(source)).Decode(into)
	}
	return nil, yaml.NewDecoder(bytes.NewReader(source), yaml.Strict()).Decode(into)
}

// Wrong reports a problem with what a path such as "$.streams[2].discard" names,
// or with the nearest thing around it that is there.
func (f *File) Wrong(path, format string, args ...any) {
	p := Problem{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)} // the file as a whole
	for ; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if pos := f.position(path); pos != nil {
			p.Line, p.Column = pos.Line, pos.Column
			break
		}
	}
	f.err.Problems = append(f.err.Problems, p)
}

// Err is an [*Error] with all problems, or nil.
func (f *File) Err() error {
	if len(f.err.Problems) == 0 {
		return nil
	}
	f.err.sort()
	return f.err
}

func (f *File) position(path string) *token.Position {
	at, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := at.FilterFile(f.tree)
	if err != nil || node == nil || firstToken(node) == nil {
		return nil
	}
	return firstToken(node).Position
}

// firstToken is where a node begins; of a mapping the library gives a colon.
func firstToken(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return firstToken(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	case *ast.SequenceNode:
		if len(n.Values) > 0 {
			return firstToken(n.Values[0])
		}
	}
	return node.GetToken()
}
