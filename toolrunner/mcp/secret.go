package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// secrets are values that nobody shall read: those of variables, and of headers. What
// servers and libraries say may hold them.
type secrets struct{ values map[string]string } // what is shown for each

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

// hide is text without any of them.
func (s *secrets) hide(text string) string {
	longest := slices.SortedFunc(maps.Keys(s.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, value := range longest {
		text = strings.ReplaceAll(text, value, s.values[value])
	}
	return text
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
	}
	for name, value := range s.Headers {
		s.Headers[name] = text(pointer("/headers", name), value)
		r.secrets.add(s.Headers[name], "["+name+"]")
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
		return value
	})
}
