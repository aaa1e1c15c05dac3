package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// An exported log is a file of JSON lines, one commit each, in the order of the
// stream:
//
//	{"subject":"everturn.log.0.default.01K…","sequence":17,"commit":{"v":1,…}}
//
// The commit stands in its line byte for byte, because its hash is over its
// bytes: a program that writes the JSON anew may break the chain. A commit that
// is no JSON on one line, which a damaged one may be, stands under "damaged" in
// base64 instead. Empty lines are skipped, unknown fields ignored.
//
// A line may also be nothing but the commit, as `everturn log --json` and
// `everturn export` print it. Where it lay is then not known: it is taken to be
// where its chat's commits are, and the number of its line counts as its sequence.
//
// Two other kinds of line stand between them in what `everturn export` prints:
// content, in base64, before the first commit that refers to it, a large one in
// several lines; and the end of a chat, by which its reader knows that nothing is
// missing.
//
//	{"content":"sha256:…","data":"…","more":true}
//	{"end":{"tenant":"default","chat":"01K…","rev":17,"hash":"…"}}

// maxLineBytes bounds a line: a commit, in base64 at worst, and what is around it.
const maxLineBytes = 2*events.MaxCommitBytes + 4<<10

type exported struct {
	Subject  string          `json:"subject"`
	Sequence uint64          `json:"sequence"`
	Commit   json.RawMessage `json:"commit,omitempty"`
	Damaged  []byte          `json:"damaged,omitempty"`
}

// Content is content of a chat. Whether it has that digest is for its reader to
// check.
type Content struct {
	Digest events.Digest
	Bytes  []byte
}

// End is what a whole export of a chat ends with: its newest commit.
type End struct {
	Tenant  string          `json:"tenant"`
	Chat    string          `json:"chat"`
	Rev     uint64          `json:"rev"`
	Hash    string          `json:"hash"`
	Missing []events.Digest `json:"missing,omitempty"` // content that was lost before
}

// Line is what a line of an exported log holds: exactly one of these. Content
// that takes several lines comes with its last.
type Line struct {
	Entry   *Entry
	Content *Content
	End     *End
}

// maxDataBytes is how much content stands in one line.
const maxDataBytes = 256 << 10

// wireContent and wireEnd are the other kinds of line.
type wireContent struct {
	Content events.Digest `json:"content"`
	Data    []byte        `json:"data"`
	More    bool          `json:"more,omitempty"`
}

type wireEnd struct {
	End *End `json:"end"`
}

// WriteContent writes content.
func WriteContent(w io.Writer, c Content) error {
	for rest, more := c.Bytes, true; more; {
		n := min(len(rest), maxDataBytes)
		more = n < len(rest)
		if err := writeLine(w, wireContent{c.Digest, rest[:n], more}); err != nil {
			return fmt.Errorf("export content %s: %w", c.Digest, err)
		}
		rest = rest[n:]
	}
	return nil
}

// WriteEnd writes that a chat is complete.
func WriteEnd(w io.Writer, e End) error { return writeLine(w, wireEnd{&e}) }

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// WriteCommit writes a commit as it is, with nothing around it.
func WriteCommit(w io.Writer, e Entry) error {
	if !isOneLine(e.Commit) {
		return WriteEntry(w, e)
	}
	_, err := w.Write(append(bytes.Clone(e.Commit), '\n'))
	return err
}

// WriteEntry writes one commit as a line of an exported log.
func WriteEntry(w io.Writer, e Entry) error {
	line, err := exportedLine(e)
	if err != nil {
		return fmt.Errorf("export sequence %d: %w", e.Sequence, err)
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("export sequence %d: %w", e.Sequence, err)
	}
	return nil
}

func exportedLine(e Entry) ([]byte, error) {
	if !isOneLine(e.Commit) {
		line, err := json.Marshal(exported{Subject: e.Subject, Sequence: e.Sequence, Damaged: e.Commit})
		return append(line, '\n'), err
	}
	head, err := json.Marshal(exported{Subject: e.Subject, Sequence: e.Sequence})
	if err != nil {
		return nil, err
	}
	// Not through the encoder, which would write the commit's JSON its own way.
	line := append(bytes.TrimSuffix(head, []byte("}")), `,"commit":`...)
	line = append(line, e.Commit...)
	return append(line, "}\n"...), nil
}

// isOneLine reports whether bytes can stand in a line as they are.
func isOneLine(commit []byte) bool {
	return json.Valid(commit) && !bytes.ContainsAny(commit, "\r\n") && bytes.Equal(commit, bytes.TrimSpace(commit))
}

// ReadEntries reads the commits of an exported log, and nothing else of it. After
// an error, which names its line, nothing follows.
func ReadEntries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for line, err := range ReadLines(r) {
			switch {
			case err != nil:
				yield(Entry{}, err)
				return
			case line.Entry != nil && !yield(*line.Entry, nil):
				return
			}
		}
	}
}

// ReadLines reads an exported log. After an error, which names its line, nothing
// follows.
func ReadLines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
		var begun Content
		number := 0
		for lines.Scan() {
			number++
			line := bytes.TrimSpace(lines.Bytes())
			if len(line) == 0 {
				continue
			}
			l, err := readLine(line, number, &begun)
			if broken, ok := errors.AsType[*json.SyntaxError](err); ok && broken.Offset == int64(len(line)) && !lines.Scan() {
				err = ErrCutOff
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
			if l != (Line{}) && !yield(l, nil) {
				return
			}
		}
		err := lines.Err()
		if err == nil && begun.Digest != "" {
			err = fmt.Errorf("%w: the rest of content %s is missing", ErrCutOff, begun.Digest)
		}
		if err != nil {
			yield(Line{}, fmt.Errorf("line %d: %w", number+1, err))
		}
	}
}

// ErrCutOff means that a file ends in the middle.
var ErrCutOff = errors.New("the file is cut off")

// readLine reads one line. Begun is content of which more is to come; then the
// line is empty.
func readLine(line []byte, number int, begun *Content) (Line, error) {
	var x struct {
		wireContent
		wireEnd
		Subject string `json:"subject"`
		V       int    `json:"v"` // of a commit
	}
	if err := json.Unmarshal(line, &x); err != nil {
		return Line{}, err
	}
	isContent := x.Content != "" && x.V == 0 && x.Subject == ""
	switch {
	case begun.Digest != "" && (!isContent || x.Content != begun.Digest):
		return Line{}, fmt.Errorf("the rest of content %s is missing", begun.Digest)
	case isContent && len(begun.Bytes)+len(x.Data) > events.MaxHistoryBytes:
		return Line{}, fmt.Errorf("content %s has more than %d bytes", x.Content, events.MaxHistoryBytes)
	case isContent:
		whole := Content{Digest: x.Content, Bytes: append(begun.Bytes, x.Data...)}
		*begun = Content{}
		if x.More {
			*begun = whole
			return Line{}, nil
		}
		return Line{Content: &whole}, nil
	case x.End != nil && x.V == 0 && x.Subject == "":
		return Line{End: x.End}, nil
	}
	e, err := readEntry(line, number)
	return Line{Entry: &e}, err
}

func readEntry(line []byte, number int) (Entry, error) {
	var x struct {
		exported
		V int `json:"v"` // of a commit
	}
	if err := json.Unmarshal(line, &x); err != nil {
		return Entry{}, err
	}
	if x.V != 0 && x.Subject == "" && len(x.Commit) == 0 {
		return bareEntry(line, number)
	}
	e := Entry{Subject: x.Subject, Sequence: x.Sequence, Commit: x.Commit}
	switch {
	case x.Subject == "":
		return Entry{}, errors.New(`no "subject"`)
	case x.Sequence == 0:
		return Entry{}, errors.New(`no "sequence"`)
	case len(x.Commit) > 0 && len(x.Damaged) > 0:
		return Entry{}, errors.New(`both "commit" and "damaged"`)
	case len(x.Damaged) > 0:
		e.Commit = x.Damaged
	case len(x.Commit) == 0:
		return Entry{}, errors.New(`no "commit"`)
	}
	return e, nil
}

// bareEntry is a commit of which nothing else is known.
func bareEntry(line []byte, number int) (Entry, error) {
	var named struct {
		Tenant string `json:"tenant"`
		Chat   string `json:"chat"`
	}
	if err := json.Unmarshal(line, &named); err != nil {
		return Entry{}, err
	}
	k := events.Key{Tenant: named.Tenant, Chat: named.Chat}
	if err := k.Validate(); err != nil {
		return Entry{}, err
	}
	return Entry{Subject: protocol.LogSubject(0, k), Sequence: uint64(number), Commit: bytes.Clone(line)}, nil
}
