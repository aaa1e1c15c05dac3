package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// source is what the Go files say beside the types: comments and constants.
// Names are written with their package: "events.StepFailed".
type source struct {
	types  map[string]string  // comment of a type
	fields map[string]string  // comment of "events.StepFailed.RetryAt"
	values map[string][]value // constants of a type
}

// value is one constant of a type.
type value struct {
	Text    string
	Comment string
}

// packages are the ones whose types travel.
var packages = []string{"events", "protocol"}

func parse(root string) (*source, error) {
	src := &source{types: map[string]string{}, fields: map[string]string{}, values: map[string][]value{}}
	for _, name := range packages {
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			src.read(name, parsed)
		}
	}
	if len(src.types) == 0 {
		return nil, fmt.Errorf("no Go files below %s: run it in the module's root", root)
	}
	return src, nil
}

func (src *source) read(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				doc := general.Doc
				if spec.Doc != nil {
					doc = spec.Doc
				}
				src.readType(pkg, spec, doc)
			case *ast.ValueSpec:
				if general.Tok == token.CONST {
					src.readConstant(pkg, spec)
				}
			}
		}
	}
}

func (src *source) readType(pkg string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	name := pkg + "." + spec.Name.Name
	src.types[name] = strings.TrimSpace(doc.Text())
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range fields.Fields.List {
		text := field.Doc.Text()
		if field.Comment != nil {
			text = field.Comment.Text()
		}
		for _, id := range field.Names {
			src.fields[name+"."+id.Name] = strings.TrimSpace(text)
		}
	}
}

func (src *source) readConstant(pkg string, spec *ast.ValueSpec) {
	if len(spec.Values) != 1 {
		return
	}
	typ, typed := spec.Type.(*ast.Ident)
	literal, isLiteral := spec.Values[0].(*ast.BasicLit)
	if !typed || !isLiteral {
		return
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	src.values[pkg+"."+typ.Name] = append(src.values[pkg+"."+typ.Name], value{
		Text: text, Comment: strings.TrimSpace(spec.Comment.Text()),
	})
}

// nameOf is how source spells a type: package and name.
func nameOf(t reflect.Type) string { return path.Base(t.PkgPath()) + "." + t.Name() }

// docLink is a reference in a Go comment.
var docLink = regexp.MustCompile(`\[\*?([a-zA-Z.]+)\]`)

// limits are the constants that comments refer to, as a reader wants to see them.
func limits() map[string]string {
	return map[string]string{
		"MaxInlineBytes":            kibibytes(events.MaxInlineBytes),
		"MaxErrorChars":             strconv.Itoa(events.MaxErrorChars) + " characters",
		"MaxResultBytes":            kibibytes(events.MaxResultBytes),
		"MaxStepsPerTurn":           strconv.Itoa(events.MaxStepsPerTurn),
		"MaxChunkBytes":             kibibytes(protocol.MaxChunkBytes),
		"events.DefaultToolTimeout": strconv.FormatInt(events.DefaultToolTimeout.Milliseconds(), 10),
	}
}

func kibibytes(n int) string { return strconv.Itoa(n>>10) + " KiB" }

// prose makes a comment about t fit for readers who know the JSON, not the Go:
// the type is called by its wire name, the fields by their JSON names.
func prose(comment string, t reflect.Type, wire string) string {
	if wire != "" {
		if rest, ok := strings.CutPrefix(comment, t.Name()+" "); ok {
			comment = "`" + wire + "` " + rest
		}
	}
	comment = docLink.ReplaceAllStringFunc(comment, func(link string) string {
		name := strings.Trim(link, "[*]")
		if limit, ok := limits()[name]; ok {
			return limit
		}
		return "`" + name + "`"
	})
	if t.Kind() != reflect.Struct {
		return comment
	}
	for field := range t.Fields() {
		if name := jsonName(field); name != "" {
			comment = rename(comment, field.Name, name)
		}
	}
	return comment
}

// rename puts a field's JSON name where a comment has its Go name, and leaves
// alone what only looks like one.
func rename(comment, field, name string) string {
	if field == strings.ToUpper(field) && len(field) > 1 {
		return comment // JSON and URL are words of their own
	}
	word := regexp.MustCompile(`(^|JSON |[\s(])` + field + `\b( most| least)?`)
	return word.ReplaceAllStringFunc(comment, func(match string) string {
		if strings.HasPrefix(match, "JSON ") || strings.HasSuffix(match, "t") && strings.Contains(match, "At ") {
			return match // JSON Schema; at most, at least
		}
		return strings.Replace(match, field, "`"+name+"`", 1)
	})
}

// jsonName is the field's name in JSON, empty if it has none.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" || !field.IsExported() {
		return ""
	}
	return name
}

// optional reports whether the field may be missing.
func optional(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}

// oneLine joins the lines of a paragraph.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// firstSentence is text up to its first full stop.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	text = oneLine(text)
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}
