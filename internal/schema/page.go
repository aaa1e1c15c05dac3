package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// page is a Markdown file on its way.
type page struct {
	bytes.Buffer
	src *source
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// text writes paragraphs with a line for each sentence's line of the comment.
func (p *page) text(comment string) {
	if comment != "" {
		p.line("%s\n", comment)
	}
}

// fields writes the table of a body's fields, if it has any.
func (p *page) fields(t reflect.Type, required func(reflect.StructField) bool) {
	if t.NumField() == 0 {
		p.line("No fields.\n")
		return
	}
	p.line("| field | type | always | meaning |\n|---|---|---|---|")
	for field := range t.Fields() {
		name := jsonName(field)
		if name == "" {
			continue
		}
		always := ""
		if required(field) {
			always = "yes"
		}
		text := strings.ReplaceAll(p.src.fieldText(t, field), "|", `\|`)
		p.line("| `%s` | %s | %s | %s |", name, typeText(field.Type), always, text)
	}
	p.line("")
}

// values writes the table of a type's constants.
func (p *page) values(name string) {
	p.line("| value | meaning |\n|---|---|")
	for _, v := range p.src.values[name] {
		p.line("| `%s` | %s |", v.Text, sentence(v.Comment))
	}
	p.line("")
}

// example writes a frozen wire file, spread over lines.
func (p *page) example(root string, b body) error {
	compact, err := wireFile(root, b.Dir, b.Example)
	if err != nil {
		return err
	}
	var spread bytes.Buffer
	if err := json.Indent(&spread, compact, "", "  "); err != nil {
		return fmt.Errorf("%s: %w", b.Example, err)
	}
	p.line("```json\n%s\n```\n", unescape(spread.Bytes()))
	return nil
}

func wireFile(root, dir, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, dir, "testdata", "wire", name))
	return bytes.TrimSpace(b), err
}

// shared are the named objects inside of bodies of one package, by name.
func shared(pkg string, bodies []body) []reflect.Type {
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		t = element(t)
		if written()[t] != nil {
			return
		}
		switch t.Kind() {
		case reflect.Slice:
			visit(t.Elem())
		case reflect.Struct:
			for field := range t.Fields() {
				field := element(field.Type)
				if field.Kind() == reflect.Slice {
					field = element(field.Elem())
				}
				if field.Kind() == reflect.Struct && field.Name() != "" && written()[field] == nil &&
					strings.HasPrefix(nameOf(field), pkg+".") {
					seen[field] = true
				}
				visit(field)
			}
		default:
		}
	}
	for _, b := range bodies {
		visit(b.Type)
	}
	types := make([]reflect.Type, 0, len(seen))
	for t := range seen {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	return types
}

// generated heads a page.
const generated = "<!-- Written by go run ./internal/schema. Change the Go types and comments instead. -->\n"

func (src *source) eventsPage(root string) ([]byte, error) {
	p := &page{src: src}
	p.line("%s", generated)
	p.line("%s", eventsIntroduction)

	var all []body
	for _, b := range catalog() {
		if b.Dir == "events" {
			all = append(all, b)
		}
	}
	p.line("## All events\n\n| type | says |\n|---|---|")
	for _, b := range all {
		says := firstSentence(prose(src.types[nameOf(b.Type)], b.Type, short(b.Name)))
		p.line("| [`%s`](#%s) | %s |", b.Name, strings.ReplaceAll(b.Name, ".", ""), says)
	}
	p.line("")
	always := func(field reflect.StructField) bool { return !optional(field) }
	for _, b := range all {
		p.line("### `%s`\n", b.Name)
		p.text(prose(src.types[nameOf(b.Type)], b.Type, short(b.Name)))
		p.fields(b.Type, always)
		p.line("Schema: [`%s.json`](schema/%s.json). Example:\n", b.Name, b.Name)
		if err := p.example(root, b); err != nil {
			return nil, err
		}
	}
	p.line("## Objects that events share\n")
	for _, t := range shared("events", catalog()) {
		p.line("### %s\n", t.Name())
		p.text(prose(src.types[nameOf(t)], t, ""))
		p.fields(t, always)
	}
	p.line("## Words\n")
	for _, w := range []struct{ name, title string }{
		{"events.PartType", "Types of parts"},
		{"events.ToolStatus", "Statuses of a call"},
		{"events.ErrorClass", "Classes of errors"},
		{"events.Finish", "How a turn was completed"},
		{"events.TurnCause", "Why a turn began"},
		{"events.Stop", "Why the model stopped"},
		{"events.CauseKind", "What a commit answers"},
		{"events.SendMode", "Modes of an input"},
		{"events.ApprovalMode", "Approval modes"},
		{"events.Policy", "Policies of a tool"},
		{"events.ApprovalDecision", "What became of an approval"},
		{"events.Resolver", "Who or what decided"},
		{"events.ApprovalScope", "For how many calls a decision holds"},
	} {
		p.line("### %s\n", w.title)
		p.text(prose(src.types[w.name], reflect.TypeFor[string](), ""))
		p.values(w.name)
	}
	return bytes.TrimRight(p.Bytes(), "\n"), nil
}

// short is a wire name without its version.
func short(name string) string {
	if i := strings.LastIndex(name, ".v"); i >= 0 {
		return name[:i]
	}
	return name
}

func (src *source) commandsPage(root string) ([]byte, error) {
	p := &page{src: src}
	p.line("%s", generated)
	p.line("%s", commandsIntroduction)
	p.line("## Codes\n\nWhat a refusal says. The exit code is that of `everturn`, the status that of HTTP.\n")
	p.line("| code | exit | status | meaning |\n|---|---|---|---|")
	for _, info := range events.Codes() {
		p.line("| `%s` | %d | %d | %s |", info.Code, info.Exit, info.HTTP, info.Meaning)
	}
	p.line("\n## Verbs\n")
	for _, b := range commands() {
		verb := strings.TrimPrefix(b.Name, "command.")
		p.line("### `%s`\n", verb)
		p.text(prose(src.types[nameOf(b.Type)], b.Type, verb))
		p.fields(b.Type, func(field reflect.StructField) bool { return slices.Contains(b.Required, jsonName(field)) })
		short, err := wireFile(root, b.Dir, b.Short)
		if err != nil {
			return nil, err
		}
		chat := "$CHAT"
		if protocol.Verb(verb) == protocol.VerbErase {
			chat = "another-chat" // whoever types the whole page goes on with the first one
		}
		p.line("```sh\nnats req everturn.cmd.default.%s.%s '%s'\n```\n", chat, verb, short)
		if b.Short == b.Example {
			p.line("Schema: [`%s.json`](schema/%s.json).\n", b.Name, b.Name)
			continue
		}
		p.line("Schema: [`%s.json`](schema/%s.json). With everything it can say:\n", b.Name, b.Name)
		if err := p.example(root, b); err != nil {
			return nil, err
		}
	}
	p.line("## The answer\n")
	always := func(field reflect.StructField) bool { return !optional(field) }
	for _, b := range append([]body{reply()}, forRunners()...) {
		if b.Name == "work.tool" {
			p.line("%s", runnersIntroduction)
		}
		p.line("### `%s`\n", b.Name)
		p.text(prose(src.types[nameOf(b.Type)], b.Type, b.Name))
		p.line("Travels: %s.\n", b.Subject)
		p.fields(b.Type, always)
		p.line("Schema: [`%s.json`](schema/%s.json). Example:\n", b.Name, b.Name)
		if err := p.example(root, b); err != nil {
			return nil, err
		}
	}
	return bytes.TrimRight(p.Bytes(), "\n"), nil
}
