package declared

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
	"github.com/everturn/everturn/protocol"
)

// Limits of a file.
const (
	maxFileBytes = 1 << 20
	maxPrograms  = 256
)

// file is a whole file. docs/DECLARED_TOOLS.md explains every key.
type file struct {
	Tools []entry `yaml:"tools"`
}

// entry is what a file says of one tool. Paths are relative to the file's folder.
type entry struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Schema      any      `yaml:"schema"` // itself, or the path of a file of JSON; nil: no arguments
	Command     []string `yaml:"command"`
	Directory   string   `yaml:"directory"` // default: the workspace
	Read        []string `yaml:"read"`
	Timeout     string   `yaml:"timeout"` // default [events.DefaultToolTimeout]

	ReadOnly   bool          `yaml:"read_only"`
	Idempotent bool          `yaml:"idempotent"`
	Parallel   *bool         `yaml:"parallel"` // default: if read-only
	Exclusive  bool          `yaml:"exclusive"`
	StopAfter  bool          `yaml:"stop_after"`
	Policy     events.Policy `yaml:"policy"` // default: allow if read-only, else ask

	Network         bool              `yaml:"network"`
	Environment     map[string]string `yaml:"environment"`
	PassEnvironment []string          `yaml:"pass_environment"`
	Sandbox         string            `yaml:"sandbox"` // default on

	Format string `yaml:"format"` // default text
	Output struct {
		ShownBytes int `yaml:"shown_bytes"` // default [events.MaxResultBytes]
		KeptBytes  int `yaml:"kept_bytes"`  // default [defaultKeptBytes]
	} `yaml:"output"`
}

// shownKeys are those whose values an error may show: in an environment there may be
// secrets, and where a variable's name is wanted somebody may put one.
func shownKeys() []string {
	return []string{
		"tools", "name", "description", "schema", "command", "directory", "read", "timeout", "read_only", "idempotent", "parallel",
		"exclusive", "stop_after", "policy", "network", "sandbox", "format", "output", "shown_bytes", "kept_bytes",
	}
}

// Program is a program that a file declares as a tool, with nothing wrong that can be
// seen before it runs.
type Program struct {
	Manifest  protocol.Manifest // without a group
	Command   []string          // the program as a full path, or as a name to look for
	Directory string            // where it starts, a full path; empty: the workspace
	Read      []string          // what it may read beside its workspace, full paths

	Network         bool
	Environment     []string // NAME=VALUE, sorted
	PassEnvironment []string // names of variables of the runner
	Unheld          bool     // it cannot run in a sandbox

	Format     Format
	ShownBytes int // of the result, to the model
	KeptBytes  int // of its output
}

// Format is what a program writes to its standard output.
type Format string

// Formats.
const (
	FormatText  Format = "text"  // any bytes
	FormatJSON  Format = "json"  // one value
	FormatParts Format = "parts" // a list of texts, images, files, links and data, as JSON
)

// Defaults and limits of what is kept of a program's output.
const (
	defaultKeptBytes = 5 << 20
	minOutputBytes   = 256
)

// minTimeout is what every program needs to start.
const minTimeout = 100 * time.Millisecond

// Load reads a file, and looks for the programs that it names. The error tells every
// problem with its line and column. Names that are taken are those of other tools of
// the same runner.
func Load(path string, taken ...string) ([]Program, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	return Parse(path, source, taken...)
}

// Parse is [Load] with the text of a file of that path.
func Parse(path string, source []byte, taken ...string) ([]Program, error) {
	if len(source) > maxFileBytes {
		return nil, fmt.Errorf("tools: %s is larger than %d bytes", path, maxFileBytes)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("tools: %s: %w", path, err)
	}
	var f file
	read, err := yamlfile.ReadOn(path, source, &f, yamlfile.OnlyValuesOf(shownKeys()...))
	if err != nil {
		return nil, err
	}
	if len(f.Tools) == 0 || len(f.Tools) > maxPrograms {
		read.Wrong("$", "tools: there are %d, want 1 to %d", len(f.Tools), maxPrograms)
	}
	programs := make([]Program, len(f.Tools))
	for i, e := range f.Tools {
		c := checker{File: read, path: fmt.Sprintf("$.tools[%d]", i), folder: folder}
		programs[i] = c.program(e)
		switch first := slices.IndexFunc(f.Tools, func(other entry) bool { return other.Name == e.Name }); {
		case first < i:
			c.wrong("name", "the name is taken by a tool above")
		case slices.Contains(taken, e.Name):
			c.wrong("name", "the runner has another tool of this name")
		}
	}
	if err := read.Err(); err != nil {
		return nil, err
	}
	return programs, nil
}

// manifest is what the model and orchestrators get to know of a tool. What changes nothing
// may run again.
func (e entry) manifest(schema json.RawMessage, timeout time.Duration) protocol.Manifest {
	return protocol.Manifest{
		Name: e.Name, Description: e.Description, Schema: schema, ReadOnly: e.ReadOnly, Idempotent: e.Idempotent || e.ReadOnly,
		Exclusive: e.Exclusive, StopAfter: e.StopAfter, Parallel: e.Parallel, Policy: e.Policy, TimeoutMS: timeout.Milliseconds(),
	}
}
