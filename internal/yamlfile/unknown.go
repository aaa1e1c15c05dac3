package yamlfile

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// unknown gives every key of a file that its type has no place for: the library tells
// of the first one only. What it does not look into, such as what an alias stands for
// or a type that decodes itself, the library looks at.
func unknown(tree *ast.File, into any) []Problem {
	s := seeker{}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			s.look(doc.Body, reflect.TypeOf(into))
		}
	}
	return s.found
}

type seeker struct{ found []Problem }

func (s *seeker) look(n ast.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		return
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			s.lookAtValue(v, t)
		}
	case *ast.MappingValueNode:
		s.lookAtValue(n, t)
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return // the library says it
		}
		for _, v := range n.Values {
			s.look(v, t.Elem())
		}
	case *ast.TagNode:
		s.look(n.Value, t)
	case *ast.AnchorNode:
		s.look(n.Value, t)
	}
}

func (s *seeker) lookAtValue(v *ast.MappingValueNode, t reflect.Type) {
	key, ok := v.Key.(*ast.StringNode)
	switch {
	case !ok: // a key of another kind, or what is merged
	case t.Kind() == reflect.Map:
		s.look(v.Value, t.Elem())
	case t.Kind() == reflect.Struct:
		field, ok := fieldOf(t, key.Value)
		if !ok {
			at := key.GetToken().Position
			s.found = append(s.found, Problem{Line: at.Line, Column: at.Column, Message: `unknown field "` + key.Value + `"`})
			return
		}
		s.look(v.Value, field)
	}
}

// fieldOf is the type of what a key of a struct stands for.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline"):
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() != reflect.Struct { // it takes any key
				return reflect.TypeFor[any](), true
			}
			if found, ok := fieldOf(inner, key); ok {
				return found, true
			}
		case !f.IsExported() || name == "-":
		case name == key, name == "" && strings.ToLower(f.Name) == key:
			return f.Type, true
		}
	}
	return nil, false
}

// decodesItself reports whether the library asks a type to decode what it is given.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return slices.ContainsFunc([]reflect.Type{
		reflect.TypeFor[yaml.BytesUnmarshaler](), reflect.TypeFor[yaml.InterfaceUnmarshaler](), reflect.TypeFor[yaml.NodeUnmarshaler](),
		reflect.TypeFor[yaml.BytesUnmarshalerContext](), reflect.TypeFor[yaml.InterfaceUnmarshalerContext](), reflect.TypeFor[yaml.NodeUnmarshalerContext](),
	}, p.Implements)
}
