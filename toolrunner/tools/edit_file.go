package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// maxLinesNamed is how many places in a file are named at most.
const maxLinesNamed = 20

// EditFile replaces a piece of a text file of the workspace by another. The piece is
// given as it stands there, and must stand there once, unless the call says how often.
//
// As with [WriteFile], each call waits for somebody to approve it, readers see the old
// content or the new one, and it is not idempotent.
func EditFile(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name: "edit_file",
		Description: "Replaces a piece of a text file of the workspace. old_text must stand in the file exactly so, white space included, and only once: " +
			"give enough of the lines around it. Or say replace_all. The user is asked before it happens.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "File, relative to the workspace."},
				"old_text": {"type": "string", "minLength": 1, "description": "What is replaced, exactly as it stands in the file."},
				"new_text": {"type": "string", "description": "What takes its place. May be empty."},
				"replace_all": {"type": "boolean", "description": "Replace it wherever it stands. Default: false."},
				"expected_count": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "How often it must stand there; else nothing is changed. All of them are replaced. Default: once, or with replace_all any number."}
			},
			"required": ["path", "old_text", "new_text"],
			"additionalProperties": false
		}`),
		Policy: events.PolicyAsk, TimeoutMS: writeTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Path  string  `json:"path"`
			Old   string  `json:"old_text"`
			New   *string `json:"new_text"`
			All   bool    `json:"replace_all"`
			Count int     `json:"expected_count"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		switch {
		case args.Path == "" || args.Old == "" || args.New == nil:
			return toolrunner.Output{}, errors.New("path, old_text and new_text are all needed; only new_text may be empty")
		case args.Old == *args.New:
			return toolrunner.Output{}, errors.New("old_text and new_text are the same: nothing would change")
		case args.Count < 0:
			return toolrunner.Output{}, errors.New("expected_count begins with 1")
		}
		e := edit{old: args.Old, new: *args.New, all: args.All, count: args.Count}
		text, err := w.edit(ctx, filepath.ToSlash(args.Path), e)
		return toolrunner.Output{Text: text}, err
	})
}

// edit is what is to be changed in a file.
type edit struct {
	old, new string
	all      bool
	count    int // how often old must stand there; 0 if nothing is said
}

// edit changes a file, and says what it did.
func (w *Workspace) edit(ctx context.Context, name string, e edit) (string, error) {
	done, err := w.alone(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	content, was, err := w.editable(name)
	if err != nil {
		return "", err
	}
	lines, err := e.places(content)
	if err != nil {
		return "", fmt.Errorf("%q: %w", name, err)
	}
	if size := len(content) + len(lines)*(len(e.new)-len(e.old)); size > maxFileBytes {
		return "", fmt.Errorf("%q: it would have %d bytes, at most %d can be edited", name, size, maxFileBytes)
	}
	if _, err := w.replace(ctx, name, []byte(strings.ReplaceAll(content, e.old, e.new)), was); err != nil {
		return "", err
	}
	if len(lines) == 1 {
		return fmt.Sprintf("Replaced it in %q, in line %d.", name, lines[0]), nil
	}
	return fmt.Sprintf("Replaced it %d times in %q, in lines %s.", len(lines), name, numbers(lines)), nil
}

// editable reads all of a text file that may be written.
func (w *Workspace) editable(name string) (string, fs.FileInfo, error) {
	there, err := w.writable(name)
	switch {
	case err != nil:
		return "", nil, err
	case there == nil:
		return "", nil, fmt.Errorf("%q: there is no such file; write_file makes one", name)
	}
	f, info, err := w.openFile(name)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if !isSame(there, info) {
		return "", nil, fmt.Errorf("%q: %w", name, errChanged)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return "", nil, explain(name, err)
	case len(content) > maxFileBytes:
		return "", nil, fmt.Errorf("%q: it has more than %d bytes, and no more can be edited", name, maxFileBytes)
	case !isText(content, true):
		return "", nil, fmt.Errorf("%s; only text in UTF-8 can be edited", describe(name, info, content[:min(len(content), sniffBytes)]))
	}
	return string(content), info, nil
}

// places are the lines in which what is replaced begins, or why nothing is replaced.
func (e edit) places(content string) ([]int, error) {
	lines := linesOf(content, e.old, len(e.old), len(content))
	switch {
	case len(lines) == 0 && strings.Contains(content, "\r\n") && !strings.Contains(e.old, "\r\n") &&
		strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), e.old):
		return nil, errors.New(`old_text is not in the file: its lines end in \r\n, and those of old_text in \n`)
	case len(lines) == 0:
		return nil, errors.New("old_text is not in the file. It must stand there exactly so, white space included; read the file again")
	case e.count != 0 && len(lines) != e.count:
		return nil, fmt.Errorf("old_text stands in the file %d times, not %d: in lines %s. Nothing was changed", len(lines), e.count, numbers(lines))
	case e.count != 0 || e.all:
		return lines, nil
	}
	if len(lines) == 1 { // two that overlap would be ambiguous as well
		lines = linesOf(content, e.old, 1, 2)
	}
	if len(lines) > 1 {
		return nil, fmt.Errorf("old_text stands in the file %d times, in lines %s: give more of the lines around it, or say replace_all",
			len(lines), numbers(lines))
	}
	return lines, nil
}

// linesOf are the numbers of the lines in which piece begins, limit of them at most. The
// search goes on step bytes behind each place.
func linesOf(content, piece string, step, limit int) []int {
	var lines []int
	line, at := 1, 0
	for len(lines) < limit {
		i := strings.Index(content[at:], piece)
		if i < 0 {
			break
		}
		line += strings.Count(content[at:at+i], "\n")
		lines = append(lines, line)
		line += strings.Count(content[at+i:at+i+step], "\n")
		at += i + step
	}
	return lines
}

func numbers(lines []int) string {
	var b strings.Builder
	for i, line := range lines[:min(len(lines), maxLinesNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	if len(lines) > maxLinesNamed {
		b.WriteString(" and more")
	}
	return b.String()
}
