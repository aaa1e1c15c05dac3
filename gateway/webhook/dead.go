package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
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
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// letterOf is the letter of an event.
func letterOf(h Hook, e cloudevents.Event, why error, tries int, at events.Time) Letter {
	return Letter{Hook: h.Name, ID: e.ID, Tenant: e.Tenant, Chat: e.Subject, Rev: e.Rev, Type: e.Type, Why: why.Error(), Tries: tries, At: at}
}
