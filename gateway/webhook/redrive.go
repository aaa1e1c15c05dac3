package webhook

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/cloudevents"
)

// redriving is the end of the name of a file of letters that are being sent again.
const redriving = ".redriving"

// maxLetterBytes bounds a line of that file.
const maxLetterBytes = 64 << 10

// Redriven is what became of a letter.
type Redriven struct {
	Letter

	Sent bool   `json:"sent"`
	Left string `json:"left,omitempty"` // why it was not sent
}

// Redrive sends the letters of a file's hooks again, of one if it is named, each once.
// Commit gives a stored commit. Those that are not taken become letters again, unless
// their chat was erased. Told is called with each. A process that sends webhooks may run meanwhile; one that redrives
// must not.
func Redrive(
	ctx context.Context, f File, s *Sender, hook string, commit func(ctx context.Context, k events.Key, rev uint64) ([]byte, error), told func(Redriven) error,
) error {
	aside := f.DeadLetters + redriving
	if _, err := os.Stat(aside); errors.Is(err, fs.ErrNotExist) { // else a redriving before this one was cut short
		if err := os.Rename(f.DeadLetters, aside); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
	}
	list, err := readLetters(aside)
	if err != nil {
		return err
	}
	again := &letters{path: f.DeadLetters}
	for _, letter := range list {
		r, keep := Redriven{Letter: letter, Left: "it is of another webhook"}, true
		if hook == "" || hook == letter.Hook {
			r.Left, keep = resend(ctx, f, s, letter, commit)
		}
		r.Sent = r.Left == ""
		if keep {
			if err := again.add(letter); err != nil {
				return err
			}
		}
		if err := told(r); err != nil {
			return err
		}
	}
	return os.Remove(aside)
}

// resend sends a letter once, and says why it was not taken and whether it stays one.
func resend(
	ctx context.Context, f File, s *Sender, letter Letter, commit func(context.Context, events.Key, uint64) ([]byte, error),
) (left string, keep bool) {
	at := slices.IndexFunc(f.Hooks, func(h Hook) bool { return h.Name == letter.Hook })
	if at < 0 {
		return "there is no such webhook any more", true
	}
	body, err := commit(ctx, events.Key{Tenant: letter.Tenant, Chat: letter.Chat}, letter.Rev)
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok && no.Code == events.CodeErased {
		return "the chat was erased, and what was said in it", false
	}
	if err != nil {
		return err.Error(), true
	}
	list, err := cloudevents.Of(body)
	if err != nil {
		return err.Error(), true
	}
	i := slices.IndexFunc(list, func(e cloudevents.Event) bool { return e.ID == letter.ID })
	if i < 0 {
		return "the commit has no such event", true
	}
	if err := s.Send(ctx, f.Hooks[at], list[i]); err != nil {
		return err.Error(), true
	}
	return "", false
}

// readLetters reads a file of letters. A last line that was cut short is left out:
// its event was not settled.
func readLetters(path string) ([]Letter, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	defer f.Close()
	var list []Letter
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLetterBytes)
	for lines.Scan() {
		var letter Letter
		if err := json.Unmarshal(lines.Bytes(), &letter); err != nil {
			if strings.HasSuffix(lines.Text(), "}") {
				return nil, fmt.Errorf("dead letters: %s, line %d: %w", path, len(list)+1, err)
			}
			continue
		}
		list = append(list, letter)
	}
	return list, lines.Err()
}
