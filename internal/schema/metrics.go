package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// instrument is one metric as a part declares it.
type instrument struct {
	Name        string // "everturn.orchestrator.commits"
	Kind        string // "Int64Counter"
	Unit        string
	Description string
}

// measured are the parts that declare metrics, each in its metrics.go.
var measured = []string{"orchestrator", "toolrunner", "streams", "gateway", "gateway/webhook"}

// instruments reads the metrics that a part declares.
func instruments(root, part string) ([]instrument, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, part, "metrics.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []instrument
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		name, ok := literal(call.Args[0])
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident: // counter(name, unit, description), as both parts call their shorthand
			unit, _ := literal(call.Args[1])
			description, _ := literal(call.Args[2])
			found = append(found, instrument{"everturn." + path.Base(part) + "." + name, "Int64Counter", unit, description})
		case *ast.SelectorExpr: // m.Int64UpDownCounter(name, metric.WithUnit(unit), …)
			found = append(found, instrument{name, fun.Sel.Name, option(call, "WithUnit"), option(call, "WithDescription")})
		}
		return true
	})
	slices.SortFunc(found, func(a, b instrument) int { return strings.Compare(a.Name, b.Name) })
	if len(found) == 0 {
		return nil, fmt.Errorf("no metrics in %s", part)
	}
	return found, nil
}

// literal is the text of a string literal.
func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// option is the text handed to an option of a call.
func option(call *ast.CallExpr, name string) string {
	for _, arg := range call.Args {
		inner, ok := arg.(*ast.CallExpr)
		if !ok || len(inner.Args) != 1 {
			continue
		}
		if selector, ok := inner.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == name {
			text, _ := literal(inner.Args[0])
			return text
		}
	}
	return ""
}

// prometheus is the metric's name as the exporter spells it.
func (i instrument) prometheus() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	switch i.Unit {
	case "By":
		name += "_bytes"
	case "s":
		name += "_seconds"
	case "%":
		name += "_percent"
	}
	if strings.HasSuffix(i.Kind, "64Counter") {
		name += "_total"
	}
	return name
}

func metricsPage(root string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s", generated, metricsIntroduction)
	for _, part := range measured {
		all, err := instruments(root, part)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n## %s\n\n| in Prometheus | counts |\n|---|---|\n", path.Base(part))
		for _, i := range all {
			fmt.Fprintf(&b, "| `%s` | %s |\n", i.prometheus(), strings.ReplaceAll(i.Description, "|", `\|`))
		}
	}
	return b.Bytes(), nil
}
