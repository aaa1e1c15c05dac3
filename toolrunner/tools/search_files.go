package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Limits of a search.
const (
	maxMatches      = 200
	maxFilesVisited = 20_000
	maxLineShown    = 300
	maxLineSearched = 64 << 10
	maxDepth        = 40
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
				"name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Only files whose name matches this pattern, for example *.go."}
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
		}{Path: ".", Name: "*"}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		pattern, err := regexp.Compile(args.Pattern)
		if err != nil {
			return toolrunner.Output{}, fmt.Errorf("pattern: %w", err)
		}
		if _, err := path.Match(args.Name, ""); err != nil {
			return toolrunner.Output{}, fmt.Errorf("name %q: not a pattern of file names", args.Name)
		}
		s := search{workspace: w, pattern: pattern, name: args.Name}
		if err := s.folder(ctx, path.Clean(args.Path), 0); err != nil && !errors.Is(err, errEnough) {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: s.text()}, nil
	})
}

// search is one search on its way.
type search struct {
	workspace *Workspace
	pattern   *regexp.Regexp
	name      string

	found   strings.Builder
	matches int
	visited int
	skipped int    // folders and files that could not be searched
	why     string // that there may be more
}

// errEnough ends a search at one of its limits.
var errEnough = errors.New("enough")

// folder searches one folder and those in it. Only the folder that was asked
// for must be readable; others are skipped and counted.
func (s *search) folder(ctx context.Context, dir string, depth int) error {
	entries, all, err := s.workspace.list(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return s.skip(err, depth)
	case depth > maxDepth:
		return s.skip(nil, depth)
	case !all:
		s.skipped++ // the rest of a huge folder
	}
	for _, e := range entries {
		if err := s.entry(ctx, dir, e, depth); err != nil {
			return err
		}
	}
	return nil
}

// skip leaves a folder out, unless it is the one that was asked for.
func (s *search) skip(err error, depth int) error {
	if depth == 0 {
		return err
	}
	s.skipped++
	return nil
}

func (s *search) entry(ctx context.Context, dir string, e fs.DirEntry, depth int) error {
	file := path.Join(dir, e.Name())
	if e.IsDir() {
		if e.Name() == ".git" {
			return nil // objects and indexes: nobody means those
		}
		return s.folder(ctx, file, depth+1)
	}
	if !e.Type().IsRegular() {
		return nil
	}
	if matches, _ := path.Match(s.name, e.Name()); !matches { // the pattern is a good one: it was tried
		return nil
	}
	if s.visited++; s.visited > maxFilesVisited {
		s.why = fmt.Sprintf("stopped after %d files", maxFilesVisited)
		return errEnough
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
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLineSearched)
	for n := 1; lines.Scan(); n++ {
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
	if s.matches == maxMatches || s.found.Len() > maxReadBytes-maxLineShown {
		s.why = fmt.Sprintf("stopped after %d matches", s.matches)
		return errEnough
	}
	s.matches++
	text = strings.TrimSpace(text)
	if len(text) > maxLineShown {
		text = strings.ToValidUTF8(text[:maxLineShown], "") + " …"
	}
	fmt.Fprintf(&s.found, "%s:%d: %s\n", file, line, text)
	return nil
}

func (s *search) text() string {
	if s.matches == 0 && s.why == "" {
		s.found.WriteString("Nothing matches.\n")
	}
	if s.why != "" {
		fmt.Fprintf(&s.found, "[%s: make the search narrower]\n", s.why)
	}
	if s.skipped > 0 {
		fmt.Fprintf(&s.found, "[%d files or folders could not be searched to their end]\n", s.skipped)
	}
	return s.found.String()
}
