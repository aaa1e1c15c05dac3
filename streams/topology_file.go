package streams

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// topologyFile is a streams.yaml as it is written.
type topologyFile struct {
	Shards     int          `yaml:"shards"`
	Replicas   string       `yaml:"replicas"`
	Duplicates string       `yaml:"duplicates"`
	Streams    []fileStream `yaml:"streams"`
	Buckets    []fileBucket `yaml:"buckets"`
	Objects    []fileObject `yaml:"objects"`
}

type fileStream struct {
	Name        string         `yaml:"name"`
	Owner       string         `yaml:"owner,omitempty"`
	Subjects    []string       `yaml:"subjects"`
	Retention   string         `yaml:"retention"`
	Discard     string         `yaml:"discard"`
	Storage     string         `yaml:"storage"`
	PersistMode string         `yaml:"persist_mode,omitempty"`
	MaxAge      string         `yaml:"max_age,omitempty"`
	MaxBytes    string         `yaml:"max_bytes"`
	MaxMsgSize  string         `yaml:"max_msg_size"`
	Allow       []string       `yaml:"allow,omitempty"`
	Deny        []string       `yaml:"deny,omitempty"`
	Republish   string         `yaml:"republish,omitempty"`
	Consumers   []fileConsumer `yaml:"consumers,omitempty"`
}

type fileConsumer struct {
	Name          string `yaml:"name"`
	AckWait       string `yaml:"ack_wait"`
	MaxDeliver    int    `yaml:"max_deliver"`
	MaxAckPending int    `yaml:"max_ack_pending"`
}

type fileBucket struct {
	Name         string `yaml:"name"`
	Owner        string `yaml:"owner,omitempty"`
	History      int    `yaml:"history"`
	Discard      string `yaml:"discard"`
	Storage      string `yaml:"storage"`
	PersistMode  string `yaml:"persist_mode,omitempty"`
	MaxBytes     string `yaml:"max_bytes"`
	MaxValueSize string `yaml:"max_value_size"`
}

type fileObject struct {
	Name     string `yaml:"name"`
	Owner    string `yaml:"owner,omitempty"`
	Discard  string `yaml:"discard"`
	Storage  string `yaml:"storage"`
	MaxBytes string `yaml:"max_bytes"`
}

// Problem is one thing wrong with a file.
type Problem struct {
	Line    int // from 1; 0 if it is not known
	Column  int
	Message string
}

// FileError is everything that is wrong with a streams.yaml.
type FileError struct {
	Name     string
	Problems []Problem // sorted by line
	lines    []string
}

// Error gives for each problem file:line:column, what is wrong, and the line.
func (e *FileError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", e.Name, p.Line, p.Column, p.Message)
		if p.Line < 1 || p.Line > len(e.lines) {
			continue
		}
		number := strconv.Itoa(p.Line)
		fmt.Fprintf(&b, "\n  %s | %s", number, e.lines[p.Line-1])
		fmt.Fprintf(&b, "\n  %s | %s^", strings.Repeat(" ", len(number)), strings.Repeat(" ", max(p.Column-1, 0)))
	}
	return b.String()
}

// parseTopology decodes and checks a file. What cannot be decoded is reported
// alone; what can be is checked completely.
func parseTopology(name string, source []byte) (*Topology, error) {
	failed := &FileError{Name: name, lines: strings.Split(string(source), "\n")}

	var file topologyFile
	tree, err := parser.ParseBytes(source, 0)
	if err == nil {
		err = yaml.UnmarshalWithOptions(source, &file, yaml.Strict())
	}
	if err != nil {
		failed.Problems = []Problem{decodingProblem(err)}
		return nil, failed
	}
	c := &fileCheck{tree: tree}
	topology := c.topology(file)
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Column - b.Column
		})
		failed.Problems = c.problems
		return nil, failed
	}
	return topology, nil
}

func decodingProblem(err error) Problem {
	at, ok := errors.AsType[yaml.Error](err)
	if !ok || at.GetToken() == nil {
		return Problem{Message: err.Error()}
	}
	pos := at.GetToken().Position
	p := Problem{Line: pos.Line, Column: pos.Column, Message: at.GetMessage()}
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		p.Message = "want " + kindText(wrong.DstType) // not the names of our types
	}
	return p
}

func kindText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	}
	return "keys and values"
}

// fileCheck collects the problems of a file with their places.
type fileCheck struct {
	tree     *ast.File
	problems []Problem
}

// add reports a problem with what a path such as "$.streams[2].discard" names,
// or with the nearest thing around it that is there.
func (c *fileCheck) add(path, format string, args ...any) {
	p := Problem{Message: fmt.Sprintf(format, args...)}
	for ; path != "" && p.Line == 0; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		at, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		node, err := at.FilterFile(c.tree)
		if err != nil || node == nil {
			continue
		}
		if pos := firstToken(node).Position; pos != nil {
			p.Line, p.Column = pos.Line, pos.Column
		}
	}
	if p.Line == 0 {
		p.Line, p.Column = 1, 1 // the file as a whole
	}
	c.problems = append(c.problems, p)
}

// firstToken is where a node begins; of a mapping the library gives a colon.
func firstToken(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return firstToken(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	case *ast.SequenceNode:
		if len(n.Values) > 0 {
			return firstToken(n.Values[0])
		}
	}
	return node.GetToken()
}

// word reports a value that is not the only one the code can work with.
func (c *fileCheck) word(path, name, key, got, want, why string) {
	if got == want {
		return
	}
	if why != "" {
		why = ": " + why
	}
	if got == "" {
		c.add(path, "%s: %s is missing: it must be %q%s", name, key, want, why)
		return
	}
	c.add(path, "%s: %s is %q and must be %q%s", name, key, got, want, why)
}

// size reads "512KiB" and gives bytes, at least low.
func (c *fileCheck) size(path, name, key, text string, low int64) int64 {
	if text == "" {
		c.add(path, "%s: %s is missing: everything has a limit", name, key)
		return 0
	}
	n, ok := parseSize(text)
	switch {
	case !ok:
		c.add(path, "%s: %s is %q: want a number of bytes, or one with KiB, MiB, GiB or TiB", name, key, text)
	case n < low:
		c.add(path, "%s: %s is %s and must be at least %s", name, key, text, sizeText(low))
	}
	return n
}

// duration reads "15s", at least low.
func (c *fileCheck) duration(path, what, text string, low time.Duration) time.Duration {
	if text == "" {
		c.add(path, "%s is missing", what)
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		c.add(path, "%s is %q: want a duration such as 100ms, 15s or 720h", what, text)
	case d < low:
		c.add(path, "%s is %s and must be at least %s", what, text, low)
	}
	return d
}

// sizeUnits in the order in which [sizeText] tries them.
func sizeUnits() []struct {
	suffix string
	bytes  int64
} {
	return []struct {
		suffix string
		bytes  int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func parseSize(text string) (int64, bool) {
	unit := int64(1)
	for _, u := range sizeUnits() {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}

func sizeText(n int64) string {
	for _, u := range sizeUnits() {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}
