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
// A line may also be nothing but the commit, as `everturn log --json` prints it.
// Where it lay is then not known: it is taken to be where its chat's commits are,
// and the number of its line counts as its sequence.

// maxLineBytes bounds a line: a commit, in base64 at worst, and what is around it.
const maxLineBytes = 2*events.MaxCommitBytes + 4<<10

type exported struct {
	Subject  string          `json:"subject"`
	Sequence uint64          `json:"sequence"`
	Commit   json.RawMessage `json:"commit,omitempty"`
	Damaged  []byte          `json:"damaged,omitempty"`
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
	if !json.Valid(e.Commit) || bytes.ContainsAny(e.Commit, "\r\n") || !bytes.Equal(e.Commit, bytes.TrimSpace(e.Commit)) {
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

// ReadEntries reads an exported log. After an error, which names its line,
// nothing follows.
func ReadEntries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
		number := 0
		for lines.Scan() {
			number++
			line := bytes.TrimSpace(lines.Bytes())
			if len(line) == 0 {
				continue
			}
			e, err := readEntry(line, number)
			if err != nil {
				yield(Entry{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Entry{}, fmt.Errorf("line %d: %w", number+1, err))
		}
	}
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
