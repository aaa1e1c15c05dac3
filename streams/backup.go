package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Files in the folder of one stream, as the nats command line writes them.
const (
	backupMeta    = "backup.json"
	backupArchive = "stream.arc.s2"
	backupTar     = "stream.tar.s2" // of servers before 2.15
)

// saved is a stream as a backup has it.
type saved struct {
	name  string
	file  string // with everything that is in the stream
	state jetstream.StreamState
	ask   json.RawMessage // what the server wants to know of the stream first
}

// readBackup gives the streams of a backup in the order in which they are
// restored: COMMANDS comes last, so that a restore that was broken off is seen.
// Of ours that do not follow from the log only three may be missing: DEAD, which nobody has
// to keep, and the buckets TOKENS and SKILLS, which releases before them did not have.
func (t *Topology) readBackup(folder string) ([]saved, error) {
	var all []saved
	var problems []error
	for _, a := range t.assets {
		if a.derived {
			continue
		}
		s, err := readSaved(filepath.Join(folder, a.config.Name), a.config.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains([]string{DeadStream, tokensStream, skillsStream}, a.config.Name):
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, fmt.Errorf("%s is missing, or a part of it: %w", a.config.Name, err))
		case err != nil:
			problems = append(problems, err)
		default:
			all = append(all, s)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	last := slices.IndexFunc(all, func(s saved) bool { return s.name == CommandsStream })
	return append(slices.Delete(slices.Clone(all), last, last+1), all[last]), nil
}

// readSaved reads what one stream's folder says about it. Wherever the stream
// comes from, it is restored as one copy: others are made of it when it is whole.
func readSaved(folder, name string) (saved, error) {
	s := saved{name: name}
	meta := filepath.Join(folder, backupMeta)
	content, err := os.ReadFile(meta)
	if err != nil {
		return s, err
	}
	var ask struct {
		Config map[string]json.RawMessage `json:"config"` // all of it, also what we do not know
		State  json.RawMessage            `json:"state"`
	}
	err = json.Unmarshal(content, &ask)
	if err == nil {
		err = json.Unmarshal(ask.State, &s.state)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", meta, err)
	}
	if said := string(ask.Config["name"]); said != `"`+name+`"` {
		return s, fmt.Errorf("%s: it is of stream %s", meta, said)
	}
	ask.Config["num_replicas"] = json.RawMessage("1")
	if s.ask, err = json.Marshal(ask); err != nil {
		return s, err
	}
	s.file = filepath.Join(folder, backupArchive)
	if _, err := os.Stat(s.file); errors.Is(err, fs.ErrNotExist) {
		s.file = filepath.Join(folder, backupTar)
	}
	_, err = os.Stat(s.file)
	return s, err
}
