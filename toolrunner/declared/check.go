package declared

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// checker says what is wrong with one tool of a file.
type checker struct {
	*yamlfile.File

	path   string // of the tool in the file
	folder string // of the file
}

func (c checker) wrong(key, format string, args ...any) {
	c.Wrong(c.path+"."+key, key+": "+format, args...)
}

// program checks what is said of one tool, and gives it with what is not said.
func (c checker) program(e entry) Program {
	c.names(e)
	p := Program{
		Manifest: e.manifest(c.schema(e.Schema), c.timeout(e.Timeout)), Directory: c.directory(e.Directory), Read: c.read(e.Read),
		Network: e.Network, PassEnvironment: e.PassEnvironment, Unheld: e.Sandbox == sandboxOff,
		Format: Format(cmp.Or(e.Format, string(FormatText))), ShownBytes: e.Output.ShownBytes, KeptBytes: e.Output.KeptBytes,
	}
	p.Environment = c.environment(e)
	p.Command = c.command(e.Command, &p)
	c.choices(e)
	c.outputs(&p)
	return p
}

// sandboxOff is the one value of the key that changes anything.
const sandboxOff = "off"

func (c checker) names(e entry) {
	switch err := protocol.ValidateToolName(e.Name); {
	case err != nil:
		c.Wrong(c.path+".name", "%v", err)
	case chat.IsBuiltIn(e.Name):
		c.wrong("name", "a tool of Everturn itself is called so")
	}
	switch {
	case strings.TrimSpace(e.Description) == "":
		c.wrong("description", "missing: the model knows nothing else of what the tool does")
	case len(e.Description) > protocol.MaxDescriptionBytes:
		c.wrong("description", "%d bytes, at most %d are allowed", len(e.Description), protocol.MaxDescriptionBytes)
	}
}

func (c checker) choices(e entry) {
	switch e.Policy {
	case "", events.PolicyAllow, events.PolicyAsk, events.PolicyReview:
	default:
		c.wrong("policy", "want allow, ask or review")
	}
	if e.Sandbox != "" && e.Sandbox != "on" && e.Sandbox != sandboxOff {
		c.wrong("sandbox", "want on or off")
	}
	switch Format(e.Format) {
	case "", FormatText, FormatJSON, FormatParts:
	default:
		c.wrong("format", "want text, json or parts")
	}
}

// noArguments is the schema of a tool that says nothing of arguments.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// schema is the schema, inline or of a file, as JSON.
func (c checker) schema(said any) json.RawMessage {
	var raw json.RawMessage
	switch said := said.(type) {
	case nil:
		return json.RawMessage(noArguments)
	case string:
		content, err := os.ReadFile(c.full(said))
		if err != nil {
			c.wrong("schema", "%v", err)
			return nil
		}
		raw = content
	default:
		content, err := json.Marshal(said)
		if err != nil {
			c.wrong("schema", "it cannot be written as JSON: %v", err)
			return nil
		}
		raw = content
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		c.wrong("schema", "want a JSON Schema, which is an object, or the path of a file with one")
		return nil
	}
	if len(raw) > protocol.MaxSchemaBytes {
		c.wrong("schema", "%d bytes, at most %d are allowed", len(raw), protocol.MaxSchemaBytes)
		return nil
	}
	if _, err := chat.CompileSchema(raw); err != nil {
		c.Wrong(c.path+".schema", "%v", err)
		return nil
	}
	if object["type"] != "object" {
		c.wrong("schema", "want type: object: arguments have names")
	}
	return raw
}

func (c checker) timeout(said string) time.Duration {
	if said == "" {
		return events.DefaultToolTimeout
	}
	timeout, err := time.ParseDuration(said)
	if err != nil || timeout < minTimeout || timeout > protocol.MaxToolTimeout {
		c.wrong("timeout", "want a time such as 30s or 5m, from %v to %v", minTimeout, protocol.MaxToolTimeout)
	}
	return timeout
}

// full is the path that one of the file means.
func (c checker) full(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.folder, path)
}

func (c checker) directory(said string) string {
	if said == "" {
		return ""
	}
	full, err := sandbox.Readable(c.full(said))
	if err != nil {
		c.wrong("directory", "%v", err)
		return ""
	}
	if info, err := os.Stat(full); err != nil || !info.IsDir() {
		c.wrong("directory", "%s: this is no folder", full)
	}
	return full
}

func (c checker) read(said []string) (paths []string) {
	for i, path := range said {
		full, err := sandbox.Readable(c.full(path))
		if err != nil {
			c.Wrong(fmt.Sprintf("%s.read[%d]", c.path, i), "read: %v", err)
		}
		paths = append(paths, full)
	}
	return paths
}

// variable is what a shell takes for the name of one.
var variable = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}$`)

// environment is what the file gives the program, and says what is wrong with that and
// with what the runner is to hand on. It repeats no value.
func (c checker) environment(e entry) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Environment)) {
		path := c.path + ".environment"
		if variable.MatchString(name) {
			path += "." + name
		}
		if err := validateVariable(name); err != nil {
			c.Wrong(path, "environment: %v", err)
		}
		if strings.ContainsRune(e.Environment[name], 0) {
			c.Wrong(path, "environment: the value has a NUL byte in it")
		}
		list = append(list, name+"="+e.Environment[name])
	}
	for i, name := range e.PassEnvironment {
		path := fmt.Sprintf("%s.pass_environment[%d]", c.path, i)
		if err := validateVariable(name); err != nil {
			c.Wrong(path, "pass_environment: %v; its value is the runner's", err)
			continue
		}
		if _, both := e.Environment[name]; both || slices.Index(e.PassEnvironment, name) < i {
			c.Wrong(path, "pass_environment: %s is given already", name)
		}
	}
	return list
}

func validateVariable(name string) error {
	switch {
	case !variable.MatchString(name):
		return errors.New("want the name of a variable, of letters, digits and _")
	case strings.HasPrefix(name, toolrunner.VariablePrefix):
		return fmt.Errorf("%s: variables that begin with %s are those of the call", name, toolrunner.VariablePrefix)
	}
	return nil
}

// command is the command with the full path of its program, if the file names one. The
// program itself can always be read.
func (c checker) command(said []string, p *Program) []string {
	if len(said) == 0 || said[0] == "" {
		c.wrong("command", "want the program and each of its arguments, as a list")
		return said
	}
	for i, argument := range said {
		if strings.ContainsRune(argument, 0) {
			c.Wrong(fmt.Sprintf("%s.command[%d]", c.path, i), "command: the argument has a NUL byte in it")
		}
	}
	program := said[0]
	where := c.path + ".command[0]"
	if strings.Contains(program, "/") {
		full, err := sandbox.Readable(c.full(program))
		if err != nil {
			c.Wrong(where, "command: %v", err)
			return said
		}
		program = full
		p.Read = append(p.Read, program)
	}
	environment := slices.Clone(p.Environment)
	if slices.Contains(p.PassEnvironment, "PATH") {
		environment = append(environment, "PATH="+os.Getenv("PATH"))
	}
	found, err := sandbox.Config{}.LookFor(program, c.folder, environment)
	if err != nil {
		c.Wrong(where, "command: %v; a program of one's own needs a path, such as ./%s", err, filepath.Base(program))
		return said
	}
	switch info, err := os.Stat(found); {
	case err != nil:
		c.Wrong(where, "command: %v", err)
	case !info.Mode().IsRegular():
		c.Wrong(where, "command: %s: this is no file", found)
	case info.Mode()&0o111 == 0:
		c.Wrong(where, "command: %s: it may not be executed; chmod +x allows it", found)
	}
	return append([]string{program}, said[1:]...)
}

// outputs checks how much of the output is kept and shown.
func (c checker) outputs(p *Program) {
	for _, limit := range []struct {
		key       string
		bytes     *int
		def, most int
	}{
		{"shown_bytes", &p.ShownBytes, events.MaxResultBytes, events.MaxResultBytes},
		{"kept_bytes", &p.KeptBytes, defaultKeptBytes, protocol.MaxUploadBytes},
	} {
		switch n := *limit.bytes; {
		case n == 0:
			*limit.bytes = limit.def
		case n < minOutputBytes || n > limit.most:
			c.wrong("output."+limit.key, "want %d to %d", minOutputBytes, limit.most)
		}
	}
}
