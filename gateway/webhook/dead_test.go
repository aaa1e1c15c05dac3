package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/webhook"
	"github.com/everturn/everturn/protocol"
)

// A disk that was full, or a process that was killed, leaves half a line: it takes no
// other with it.
func TestHalfALetterSpoilsNoOther(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	to := receive(t, func(w http.ResponseWriter, _ *http.Request, _ got) bool {
		if open.Load() {
			return true
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		return false
	})
	r := newRig(t)
	f := r.load(r.file("name: crm\nurl: " + to.URL))
	if err := os.WriteFile(f.DeadLetters, []byte(`{"hook":"crm","id":"acme.os`), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := r.run(f)
	r.commit("acme", "oslo", 1)
	r.await("it is set aside", func() bool { return strings.Contains(r.log.String(), "set aside") })
	stop()
	open.Store(true)
	if list := r.redrive(f); len(list) != 1 || !list[0].Sent || list[0].ID != "acme.oslo.1.0" {
		t.Errorf("redriven %+v", list)
	}
}

// What was said in a chat that is erased is sent to nobody, and not asked for again.
func TestLettersOfAnErasedChatAreOver(t *testing.T) {
	t.Parallel()
	r, to := newRig(t), receive(t, nil)
	f := r.load(r.file("name: crm\nurl: " + to.URL))
	letter := `{"hook":"crm","id":"acme.oslo.1.0","tenant":"acme","chat":"oslo","rev":1,"type":"chat.titled.v1","why":"status 422","tries":5,"at":"2026-11-29T12:00:00.000Z"}` + "\n"
	if err := os.WriteFile(f.DeadLetters, []byte(letter), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []webhook.Redriven
	erased := func(context.Context, events.Key, uint64) ([]byte, error) {
		return nil, fmt.Errorf("query: %w", &protocol.RefusedError{Code: events.CodeErased})
	}
	for range 2 {
		err := webhook.Redrive(t.Context(), f, webhook.NewSender("0.0.0", time.Now), "", erased, func(one webhook.Redriven) error {
			told = append(told, one)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 1 || told[0].Sent || told[0].Left == "" || to.requests() != 0 {
		t.Errorf("told %+v in %d requests", told, to.requests())
	}
}

// Who redrives takes the file away while others write to it: no letter is lost.
func TestLettersAreKeptWhileOthersAreSentAgain(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 60
	r := newRig(t)
	f := r.load(r.file("name: crm\nurl: http://127.0.0.1:1"))
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				if err := webhook.AddLetter(f.DeadLetters, webhook.Letter{Hook: "crm", ID: fmt.Sprint(w, ".", n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writing.Wait(); close(written) }()
	there := make(map[string]bool)
	for over := false; !over; {
		select {
		case <-written:
			over = true
		default:
		}
		nobody := func(context.Context, events.Key, uint64) ([]byte, error) {
			return nil, &protocol.RefusedError{Code: events.CodeErased}
		}
		err := webhook.Redrive(t.Context(), f, webhook.NewSender("0.0.0", time.Now), "", nobody, func(one webhook.Redriven) error {
			there[one.ID] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(there) != writers*each {
		t.Errorf("%d of %d letters were lost", writers*each-len(there), writers*each)
	}
}
