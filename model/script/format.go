package script

import (
	_ "embed" // for the script of [Demo]
	"fmt"
	"io"
	"os"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// maxScriptBytes bounds a script; the largest sensible one is far smaller.
const maxScriptBytes = 4 << 20

// file is a whole script. docs/SCRIPT.md explains every key to users.
type file struct {
	Pace  time.Duration `yaml:"pace"`
	Rules []rule        `yaml:"rules"`
}

// rule is an answer and when to give it.
type rule struct {
	When   condition      `yaml:"when"`
	Pace   *time.Duration `yaml:"pace"`
	Usage  *usage         `yaml:"usage"`
	Answer []piece        `yaml:"answer"`
}

// condition holds when everything that is set holds.
type condition struct {
	Input  string `yaml:"input"`
	Step   int    `yaml:"step"`
	Result string `yaml:"result"`
	Offers string `yaml:"offers"`
	Model  string `yaml:"model"`
}

// piece is one thing that happens in an answer. Exactly one field is set.
type piece struct {
	Text         *string        `yaml:"text"`
	TextHex      *string        `yaml:"text_hex"`
	Reasoning    *string        `yaml:"reasoning"`
	ReasoningHex *string        `yaml:"reasoning_hex"`
	Call         *call          `yaml:"call"`
	Pause        *time.Duration `yaml:"pause"`
	Fail         *failure       `yaml:"fail"`
	Cut          *bool          `yaml:"cut"`
	Stop         *events.Stop   `yaml:"stop"`
}

// call is a tool call, or many of them.
type call struct {
	Name         string  `yaml:"name"`
	Arguments    *string `yaml:"arguments"`
	ArgumentsHex *string `yaml:"arguments_hex"`
	ID           *string `yaml:"id"`
	Count        int     `yaml:"count"`
}

// failure ends the stream with an error.
type failure struct {
	Class      events.ErrorClass `yaml:"class"`
	Message    string            `yaml:"message"`
	RetryAfter time.Duration     `yaml:"retry_after"`
	Status     int               `yaml:"status"`
	Times      int               `yaml:"times"`
}

// usage is what the answer is said to have taken.
type usage struct {
	Input      int64 `yaml:"input"`
	Output     int64 `yaml:"output"`
	CacheRead  int64 `yaml:"cache_read"`
	CacheWrite int64 `yaml:"cache_write"`
	Reasoning  int64 `yaml:"reasoning"`
}

//go:embed demo.yaml
var demo []byte

// Demo is the model that answers when nobody has written a script: it says what
// it does, calls a tool if one it knows is on offer, and uses the result.
func Demo() *Model {
	m, err := Parse("demo.yaml", demo)
	if err != nil {
		panic(err) // a test parses it
	}
	return m
}

// Load reads the script at path.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxScriptBytes+1))
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return Parse(path, src)
}

// Parse reads a script, in YAML or JSON. Errors name the place as name:line:column.
func Parse(name string, src []byte) (*Model, error) {
	if len(src) > maxScriptBytes {
		return nil, fmt.Errorf("script %s: larger than %d bytes", name, maxScriptBytes)
	}
	var f file
	read, err := yamlfile.Read(name, src, &f, nil)
	if err != nil {
		return nil, err
	}
	if err := check(read, f); err != nil {
		return nil, err
	}
	return &Model{script: f}, nil
}
