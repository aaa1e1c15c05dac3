package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// secrets are values that nobody shall read: those of variables, and of headers. What
// servers and libraries say may hold them.
type secrets struct {
	values  map[string]string // what is shown for each
	private map[string]bool   // those that results do not show either
}

// minSecretBytes: what is shorter stands everywhere.
const minSecretBytes = 6

func (s *secrets) add(value, shown string) {
	if len(value) < minSecretBytes {
		return
	}
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[value] = shown
}

// secretWords are in the names of variables and headers whose values nobody should read.
func secretWords() []string {
	return []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"}
}

// named adds the value of something with a name, if that says that it is a secret: with
// each of its lines, and without a word before it that says what kind of secret it is.
func (s *secrets) named(name, value, shown string) {
	if !slices.ContainsFunc(secretWords(), func(word string) bool { return strings.Contains(strings.ToUpper(name), word) }) {
		return
	}
	pieces := append(strings.Split(value, "\n"), value)
	if kind, rest, two := strings.Cut(value, " "); two && kind != "" {
		pieces = append(pieces, rest)
	}
	for _, piece := range pieces {
		if piece = strings.TrimSpace(piece); len(piece) < minSecretBytes {
			continue
		}
		if _, known := s.values[piece]; !known {
			s.add(piece, shown)
		}
		if s.private == nil {
			s.private = map[string]bool{}
		}
		s.private[piece] = true
	}
}

// hide is text without any of them, for logs and errors.
func (s *secrets) hide(text string) string {
	return s.without(text, func(string) bool { return true })
}

// conceal is text without those that are secrets by their name, for what models read and
// what is kept. The others stay: a folder that came from a variable is no secret, and a
// result without it would be wrong.
func (s *secrets) conceal(text string) string {
	return s.without(text, func(value string) bool { return s.private[value] })
}

func (s *secrets) without(text string, which func(value string) bool) string {
	longest := slices.SortedFunc(maps.Keys(s.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, value := range longest {
		if which(value) {
			text = strings.ReplaceAll(text, value, s.values[value])
		}
	}
	return text
}

// concealJSON is conceal for JSON, where a value may be spelled otherwise.
func (s *secrets) concealJSON(text []byte) []byte {
	concealed := s.conceal(string(text))
	for value := range s.private {
		if spelled, err := json.Marshal(value); err == nil {
			inner := string(spelled[1 : len(spelled)-1])
			if inner != value {
				concealed = strings.ReplaceAll(concealed, inner, s.values[value])
			}
		}
	}
	return []byte(concealed)
}

// reader puts the values of variables into servers.
type reader struct {
	lookup  func(string) (string, bool)
	secrets *secrets
}

// variable is ${NAME}, or ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand is s with the values of variables. A variable that is not there is wrong.
func (r reader) expand(s Server, wrong func(field, why string)) Server {
	text := func(field, text string) string { return r.text(text, func(why string) { wrong(field, why) }) }
	s.Command, s.Cwd, s.URL = text("/command", s.Command), text("/cwd", s.Cwd), text("/url", s.URL)
	s.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		s.Args[i] = text(fmt.Sprintf("/args/%d", i), arg)
	}
	s.Read = slices.Clone(s.Read)
	for i, folder := range s.Read {
		s.Read[i] = text(fmt.Sprintf("/read/%d", i), folder)
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for name, value := range s.Env {
		s.Env[name] = text(pointer("/env", name), value)
		r.secrets.named(name, s.Env[name], "["+name+"]")
	}
	for name, value := range s.Headers {
		s.Headers[name] = text(pointer("/headers", name), value)
		r.secrets.add(s.Headers[name], "["+name+"]")
		r.secrets.named(name, s.Headers[name], "["+name+"]")
	}
	return s
}

func (r reader) text(text string, wrong func(why string)) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value, ok := r.lookup(parts[1])
		if fallback, has := strings.CutPrefix(parts[2], ":-"); has && (!ok || value == "") {
			return fallback
		}
		if !ok {
			wrong(fmt.Sprintf("there is no variable %s", parts[1]))
			return ""
		}
		r.secrets.add(value, "${"+parts[1]+"}")
		r.secrets.named(parts[1], value, "${"+parts[1]+"}")
		return value
	})
}
