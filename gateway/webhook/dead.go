package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/cloudevents"
)

// Letter is an event that a hook's receiver did not take. What it says is in the log;
// here is where.
type Letter struct {
	Hook   string      `json:"hook"`
	ID     string      `json:"id"`
	Tenant string      `json:"tenant"`
	Chat   string      `json:"chat"`
	Rev    uint64      `json:"rev"`
	Type   string      `json:"type"`
	Why    string      `json:"why"`
	Tries  int         `json:"tries"`
	At     events.Time `json:"at"` // when it was given up
}

// letters is the file of them, a JSON object a line.
type letters struct {
	mu   sync.Mutex
	path string
}

// add writes a letter. It is stored when add returns.
func (l *letters) add(letter Letter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(letter)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	for moved := true; moved; { // who redrives may take the file away meanwhile, and have read it already
		if moved, err = l.write(append(line, '\n')); err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	return nil
}

// write appends a line, and reports whether the file it wrote to has another name now.
func (l *letters) write(line []byte) (moved bool, err error) {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole, err := endsWithLine(f)
	if err != nil {
		return false, err
	}
	if !whole { // a disk was full, or a process was killed: that line is lost, and no other
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(line); err != nil {
		return false, err
	}
	if err := f.Sync(); err != nil {
		return false, err
	}
	written, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && !os.SameFile(written, there), err
}

// endsWithLine reports whether a file is empty or ends with a whole line.
func endsWithLine(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}

// letterOf is the letter of an event.
func letterOf(h Hook, e cloudevents.Event, why error, tries int, at events.Time) Letter {
	return Letter{Hook: h.Name, ID: e.ID, Tenant: e.Tenant, Chat: e.Subject, Rev: e.Rev, Type: e.Type, Why: why.Error(), Tries: tries, At: at}
}
