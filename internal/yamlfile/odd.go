package yamlfile

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// tags are what may stand before a value. Others mean nothing to us, and hide from
// readers which key a value belongs to: `name: !api_key: hush` is a name.
func tags() []string {
	return []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}
}

// odd finds the first tag or anchor that nobody can want. It reads no value.
type odd struct{ found *Problem }

// Visit implements [ast.Visitor].
func (o *odd) Visit(n ast.Node) ast.Visitor {
	if o.found != nil {
		return nil
	}
	message := ""
	switch n := n.(type) {
	case *ast.TagNode:
		if !slices.Contains(tags(), n.Start.Value) {
			message = "this tag is not known; leave it away, or quote the value"
		}
	case *ast.AnchorNode:
		if n.Name == nil || !isWord(n.Name.GetToken().Value) {
			message = "the name of an anchor is of letters, digits, _ and -; or quote the value"
		}
	}
	if message == "" {
		return o
	}
	at := n.GetToken().Position
	o.found = &Problem{Line: at.Line, Column: at.Column, Message: message}
	return nil
}

func isWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// oddity is what is odd in a file, if anything is.
func oddity(tree *ast.File) *Problem {
	o := &odd{}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			ast.Walk(o, doc.Body)
		}
	}
	return o.found
}
