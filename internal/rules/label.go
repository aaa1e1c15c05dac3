package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// label is a rule's number in a comment or a text. Sections that are one rule
	// have no second number.
	label = regexp.MustCompile(`\bS(?:[1-9][0-9]*\.[0-9.]*[0-9]|3|8|9|11|12|13|14)\b`)
	// inName is the number at the beginning of a test's name.
	inName = regexp.MustCompile(`^TestS([0-9]+(?:_[0-9]+)*)_`)
)

// testsOf gives the tests that name a rule, as package.Test and sorted, for each
// rule that is named.
func testsOf(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"), filepath.Base(filepath.Dir(path)) == "rules":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(test.Name.Name, "Test") {
				continue
			}
			name := filepath.Base(filepath.Dir(path)) + "." + test.Name.Name
			for _, rule := range labels(test) {
				found[rule] = append(found[rule], name)
			}
		}
		return nil
	})
	for rule, tests := range found {
		slices.Sort(tests)
		found[rule] = slices.Compact(tests)
	}
	return found, err
}

// labels are the rules that a test names, each once.
func labels(test *ast.FuncDecl) []string {
	var list []string
	if m := inName.FindStringSubmatch(test.Name.Name); m != nil {
		list = append(list, "S"+strings.ReplaceAll(m[1], "_", "."))
	}
	list = append(list, label.FindAllString(test.Doc.Text(), -1)...)
	ast.Inspect(test.Body, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			list = append(list, label.FindAllString(text.Value, -1)...)
		}
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}
