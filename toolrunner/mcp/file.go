package mcp

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/everturn/everturn/events"
)

// Server is one entry of a file of servers. Either Command or URL is set.
type Server struct {
	Name string `json:"-"` // its key in the file

	// Command is a program that speaks MCP over its standard input and output.
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"` // its folder; default: the workspace of the runner

	// URL is a server that speaks streamable HTTP.
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"` // sent with each request, to that host only

	Type     string `json:"type"`     // stdio, or http in one of its spellings; default: what there is
	Disabled bool   `json:"disabled"` // as if it were not in the file

	// What a program may, beside reading its folder.
	Network bool     `json:"network"` // the network of the host; default: none
	Write   bool     `json:"write"`   // write in its folder; default: only in a /tmp of its own
	Read    []string `json:"read"`    // further folders and files to read
	Sandbox string   `json:"sandbox"` // off: run it with all rights of this user

	// What its tools are offered as. Patterns are those of [path.Match], on the server's
	// own names.
	Tools      Choice            `json:"tools"`
	Policy     events.Policy     `json:"policy"`     // of each; default: ask, unless it is read-only
	Policies   map[string]string `json:"policies"`   // by pattern, before Policy; the longest pattern counts
	ReadOnly   []string          `json:"readOnly"`   // patterns of tools without effects
	Idempotent []string          `json:"idempotent"` // patterns of tools that may run again under the same key
	Trust      bool              `json:"trust"`      // believe what the server says of those two
	Timeout    Duration          `json:"timeout"`    // of a call; default [events.DefaultToolTimeout]
}

// Choice says which tools of a server are offered.
type Choice struct {
	Allow []string `json:"allow"` // patterns; default: all
	Deny  []string `json:"deny"`  // patterns; these are not, whatever Allow says
}

// Duration is written as 90s or 5m.
type Duration time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Limits of a file.
const (
	maxFileBytes = 1 << 20
	maxServers   = 64
	maxTimeout   = 24 * time.Hour
)

// File is what [Load] has read.
type File struct {
	Servers []Server // in the file's order, without those that are disabled
	secrets secrets
}

// Load reads a file of servers. In command, args, env, cwd, url and headers ${NAME} and
// ${NAME:-default} stand for variables, which lookup gives. All problems are
// reported at once where that is possible, each with its line and column; none shows a
// value of the file.
func Load(path string, lookup func(string) (string, bool)) (File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("mcp servers: %w", err)
	}
	return parse(path, content, lookup)
}

func parse(path string, content []byte, lookup func(string) (string, bool)) (File, error) {
	if len(content) > maxFileBytes {
		return File{}, fmt.Errorf("%s: %d bytes, at most %d are allowed", path, len(content), maxFileBytes)
	}
	p := problems{path: path, content: content}
	var whole struct {
		Servers jsontext.Value `json:"mcpServers"`
	}
	if err := json.Unmarshal(content, &whole); err != nil { // other programs keep other things in it
		return File{}, p.decoding(err, "")
	}
	if whole.Servers.Kind() != '{' {
		p.at("/mcpServers", "want mcpServers, an object with each server under its name")
		return File{}, p.err()
	}
	f := File{}
	r := reader{lookup: lookup, secrets: &f.secrets}
	for name, raw := range members(whole.Servers) {
		where := pointer("/mcpServers", name)
		s := Server{Name: name}
		if err := json.Unmarshal(raw, &s, json.RejectUnknownMembers(true)); err != nil {
			p.add(p.decoding(err, where))
			continue
		}
		if s.Disabled {
			continue
		}
		s = r.expand(s, func(field, why string) { p.at(where+field, "%s", why) })
		s.check(func(field, why string) { p.at(where+field, "%s", why) })
		f.Servers = append(f.Servers, s)
	}
	p.sameNames(f.Servers)
	if len(f.Servers) > maxServers {
		p.at("/mcpServers", "%d servers, at most %d are allowed", len(f.Servers), maxServers)
	}
	return f, p.err()
}

// kinds are the spellings of how a server is spoken to, and what they need.
func kinds() map[string]string {
	return map[string]string{
		"stdio": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url", "streamable_http": "url",
	}
}

// check says what is wrong with a server.
func (s Server) check(wrong func(field, why string)) {
	if s.Name == "" || len(s.Name) > maxServerName {
		wrong("", fmt.Sprintf("name: want 1 to %d bytes", maxServerName))
	}
	switch {
	case s.Command == "" && s.URL == "":
		wrong("", "want command or url")
	case s.Command != "" && s.URL != "":
		wrong("/url", "there is a command, too: want one of them")
	case s.URL != "":
		s.checkURL(wrong)
	case len(s.Headers) > 0:
		wrong("/headers", "a command has none: this is for a url")
	}
	if s.Type == "sse" {
		wrong("/type", "servers of the old HTTP transport with two addresses cannot be spoken to; most have streamable HTTP, too")
	} else if need, known := kinds()[s.Type]; s.Type != "" && (!known || need == "command" && s.Command == "" || need == "url" && s.URL == "") {
		wrong("/type", "want stdio with a command, http with a url, or nothing")
	}
	if s.Sandbox != "" && s.Sandbox != sandboxOn && s.Sandbox != sandboxOff {
		wrong("/sandbox", "want on or off")
	}
	if !isPolicy(s.Policy) {
		wrong("/policy", "want allow, ask or review")
	}
	for pattern, policy := range s.Policies {
		if policy == "" || !isPolicy(events.Policy(policy)) {
			wrong(pointer("/policies", pattern), "want allow, ask or review")
		}
	}
	if t := time.Duration(s.Timeout); t < 0 || t > maxTimeout {
		wrong("/timeout", fmt.Sprintf("want up to %v", maxTimeout))
	}
	s.checkPatterns(wrong)
}

// Values of [Server.Sandbox], and of the flag that is for all servers.
const (
	sandboxOn  = "on"
	sandboxOff = "off"
)

func isPolicy(p events.Policy) bool {
	return slices.Contains([]events.Policy{"", events.PolicyAllow, events.PolicyAsk, events.PolicyReview}, p)
}

func (s Server) checkURL(wrong func(field, why string)) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"/args", len(s.Args) > 0},
		{"/env", len(s.Env) > 0},
		{"/cwd", s.Cwd != ""},
		{"/network", s.Network},
		{"/write", s.Write},
		{"/read", len(s.Read) > 0},
		{"/sandbox", s.Sandbox != ""},
	} {
		if field.set {
			wrong(field.name, "a url has none: this is for a command")
		}
	}
	if _, err := endpoint(s.URL); err != nil {
		wrong("/url", err.Error())
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			wrong(pointer("/headers", name), "this is no header")
		}
	}
}

func (s Server) checkPatterns(wrong func(field, why string)) {
	for field, patterns := range map[string][]string{
		"/tools/allow": s.Tools.Allow, "/tools/deny": s.Tools.Deny, "/readOnly": s.ReadOnly, "/idempotent": s.Idempotent,
	} {
		for i, pattern := range patterns {
			if !isPattern(pattern) {
				wrong(fmt.Sprintf("%s/%d", field, i), "this is no pattern")
			}
		}
	}
	for pattern := range s.Policies {
		if !isPattern(pattern) {
			wrong(pointer("/policies", pattern), "this is no pattern")
		}
	}
}
