package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/picture"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Limits of reading a file.
const (
	defaultLines  = 1_000
	maxReadBytes  = events.MaxResultBytes - 1<<10 // leaves room for what we add, so that nothing is cut in the middle
	maxLineNumber = 100_000_000
)

// ReadFile reads a text file of the workspace, or a part of it, and shows an image.
func ReadFile(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "read_file",
		Description: "Reads a text file of the workspace. Long files come in parts: the last line then says where to go on. A PNG, JPEG, GIF or WebP image is shown. Of any other file that is not text it says the size and the type.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "File, relative to the workspace."},
				"first_line": {"type": "integer", "minimum": 1, "maximum": 100000000, "description": "Line to begin with. Default: 1."},
				"lines": {"type": "integer", "minimum": 1, "maximum": 10000, "description": "How many lines at most. Default: 1000."},
				"artifact_type": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Keep the whole file for the user, too, as it is now: its media type, such as text/markdown or image/png."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
		ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow, TimeoutMS: readTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		args := struct {
			Path  string `json:"path"`
			First int    `json:"first_line"`
			Lines int    `json:"lines"`
			Kept  string `json:"artifact_type"`
		}{First: 1, Lines: defaultLines}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.First < 1 || args.First > maxLineNumber || args.Lines < 1 {
			return toolrunner.Output{}, errors.New("first_line and lines begin with 1")
		}
		out, err := w.read(ctx, args.Path, args.First, args.Lines)
		if err != nil || args.Kept == "" {
			return out, err
		}
		content, err := w.whole(args.Path)
		out.Artifacts = []toolrunner.Artifact{{Title: path.Clean(filepath.ToSlash(args.Path)), Type: args.Kept, Content: content}}
		return out, err
	})
}

// whole is the content of a file that is to be kept.
func (w *Workspace) whole(name string) ([]byte, error) {
	f, _, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, protocol.MaxUploadBytes+1))
	switch {
	case err != nil:
		return nil, explain(name, err)
	case len(content) > protocol.MaxUploadBytes:
		return nil, fmt.Errorf("%q: it has more than %d bytes, and no more are kept", name, protocol.MaxUploadBytes)
	}
	return content, nil
}

// read gives lines of a text file, or shows an image, or says what else the file is.
func (w *Workspace) read(ctx context.Context, name string, first, lines int) (toolrunner.Output, error) {
	f, info, err := w.openFile(name)
	if err != nil {
		return toolrunner.Output{}, err
	}
	defer f.Close()
	start, isText, err := sniff(f, info.Size())
	switch {
	case err != nil:
		return toolrunner.Output{}, explain(name, err)
	case !isText:
		return show(f, name, info, start), nil
	case info.Size() == 0:
		return toolrunner.Output{Text: "The file is empty."}, nil
	}
	text, err := readLines(ctx, bufio.NewReader(f), first, lines)
	return toolrunner.Output{Text: text}, err
}

// show gives an image, if f is one that models can be shown, and says what it is.
func show(f io.Reader, name string, info fs.FileInfo, start []byte) toolrunner.Output {
	told := toolrunner.Output{Text: describe(name, info, start)}
	if _, err := picture.Look(start); errors.Is(err, picture.ErrNoPicture) {
		return told
	}
	content, err := io.ReadAll(io.LimitReader(f, model.MaxImageBytes+1))
	if err != nil {
		return told
	}
	seen, err := picture.Look(content)
	switch {
	case err != nil:
		told.Text += fmt.Sprintf(". It cannot be shown: %v", err)
		return told
	case len(content) > model.MaxImageBytes:
		told.Text += fmt.Sprintf(". It cannot be shown: images may have %d bytes", model.MaxImageBytes)
		return told
	}
	return toolrunner.Output{
		Text:  fmt.Sprintf("%s: %s, %d × %d pixels, %d bytes", name, seen.MediaType, seen.Width, seen.Height, len(content)),
		Parts: []toolrunner.Part{toolrunner.Image(path.Base(filepath.ToSlash(name)), content)},
	}
}

// readLines gives lines from the first one on, as many as fit, and says where
// to go on if that is not the end.
func readLines(ctx context.Context, r *bufio.Reader, first, lines int) (string, error) {
	var (
		b    strings.Builder
		line = 1
	)
	for ; ; line++ {
		wanted := line >= first
		if line == first+lines {
			if _, err := r.Peek(1); err == nil {
				fmt.Fprintf(&b, "\n[more follows: go on with first_line %d]\n", line)
			}
			return b.String(), nil
		}
		text, cut, err := readLine(ctx, r)
		if wanted && b.Len() > 0 && b.Len()+len(text) > maxReadBytes {
			fmt.Fprintf(&b, "\n[more follows: go on with first_line %d]\n", line)
			return b.String(), nil
		}
		if wanted {
			b.WriteString(text)
		}
		if wanted && cut {
			b.WriteString(" [the rest of this long line was left out]\n")
		}
		switch {
		case errors.Is(err, io.EOF):
			return ended(b.String(), line, text, first)
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			return "", errors.New("the file could not be read to its end")
		}
	}
}

// ended is what was read when the file came to its end in the given line.
func ended(read string, line int, last string, first int) (string, error) {
	if last == "" {
		line--
	}
	if first > line {
		return "", fmt.Errorf("the file has only %d lines", line)
	}
	return read, nil
}

// readLine reads one line with its end, and keeps of it what can be shown.
func readLine(ctx context.Context, r *bufio.Reader) (text string, cut bool, err error) {
	var b strings.Builder
	for {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		piece, err := r.ReadSlice('\n')
		if room := maxReadBytes/2 - b.Len(); len(piece) > room {
			piece, cut = piece[:max(room, 0)], true
		}
		b.Write(piece)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b.String(), cut, err
		}
	}
}
