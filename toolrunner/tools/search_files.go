package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Limits of a search, beside those of going through the folders.
const (
	maxMatches       = 200
	maxLineShown     = 300
	maxLineSearched  = 64 << 10
	maxSearchedBytes = 256 << 20 // of all files together

	// maxPatternSteps is how much there may be to do for each byte of a file: a line
	// takes seconds at most, and only between lines it is seen that the time is over.
	maxPatternSteps = 2_000
)

// SearchFiles searches the text files of the workspace.
func SearchFiles(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "search_files",
		Description: "Searches the text files of the workspace for a regular expression (RE2) and gives each matching line with file and line number. Links are not followed.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Regular expression. (?i) at its start ignores case."},
				"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Folder to search, relative to the workspace. Default: all of it."},
				"name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Only files whose name matches this pattern, for example *.go, or, if it has a slash, whose path below the folder does, for example src/**/*.{js,ts}."},
				"max_matches": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Stop after so many matching lines. Default: 200."}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
		ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow, TimeoutMS: readTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		args := struct {
			Pattern string `json:"pattern"`
			Path    string `json:"path"`
			Name    string `json:"name"`
			Matches int    `json:"max_matches"`
		}{Path: ".", Name: "*", Matches: maxMatches}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.Matches < 1 || args.Matches > maxMatches {
			return toolrunner.Output{}, fmt.Errorf("max_matches: want 1 to %d", maxMatches)
		}
		pattern, err := parsePattern(args.Pattern)
		if err != nil {
			return toolrunner.Output{}, fmt.Errorf("pattern: %w", err)
		}
		name, err := parseGlob(args.Name)
		if err != nil {
			return toolrunner.Output{}, fmt.Errorf("name: %w", err)
		}
		s := search{walk: walk{workspace: w}, pattern: pattern, name: name, limit: args.Matches}
		s.see = s.entry
		if err := s.run(ctx, args.Path); err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: s.text()}, nil
	})
}

// parsePattern reads an expression, unless matching it would take too long.
func parsePattern(expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPatternSteps {
		return nil, errors.New("it takes too long to look for; repeat less in it, such as .* in place of .{0,1000}")
	}
	return regexp.Compile(expression)
}

// search is one search on its way.
type search struct {
	walk

	pattern *regexp.Regexp
	name    glob
	limit   int // of matches

	found   strings.Builder
	matches int
	read    int64 // bytes
}

func (s *search) entry(ctx context.Context, file, relative string, e fs.DirEntry) error {
	if !e.Type().IsRegular() || !s.name.matches(relative) {
		return nil
	}
	return s.file(ctx, file)
}

// file searches one file, if it is text and not too large.
func (s *search) file(ctx context.Context, file string) error {
	f, info, err := s.workspace.openFile(file)
	if err != nil {
		s.skipped++
		return ctx.Err()
	}
	defer f.Close()
	_, text, err := sniff(f, info.Size())
	if err != nil || info.Size() > maxFileBytes {
		s.skipped++
		return ctx.Err()
	}
	if !text {
		return ctx.Err()
	}
	if s.read += info.Size(); s.read > maxSearchedBytes {
		return s.enough("stopped after %d MiB", maxSearchedBytes>>20)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLineSearched)
	for n := 1; lines.Scan(); n++ {
		if err := s.goesOn(ctx); err != nil {
			return err
		}
		if !s.pattern.Match(lines.Bytes()) {
			continue
		}
		if err := s.match(file, n, lines.Text()); err != nil {
			return err
		}
	}
	if lines.Err() != nil { // a line that is too long, or the file went away
		s.skipped++
	}
	return ctx.Err()
}

func (s *search) match(file string, line int, text string) error {
	if s.matches == s.limit || s.found.Len() > maxReadBytes-maxLineShown-len(file) {
		return s.enough("stopped after %d matches", s.matches)
	}
	s.matches++
	text = strings.TrimSpace(text)
	if len(text) > maxLineShown {
		text = strings.ToValidUTF8(text[:maxLineShown], "") + " …"
	}
	fmt.Fprintf(&s.found, "%s:%d: %s\n", shownName(file), line, text)
	return nil
}

func (s *search) text() string {
	if s.matches == 0 && s.why == "" {
		s.found.WriteString("Nothing matches.\n")
	}
	s.found.WriteString(s.left())
	return s.found.String()
}
