package webhook_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/gateway/webhook"
)

func TestEachEventIsToldSignedAndInOrder(t *testing.T) {
	t.Parallel()
	r, to := newRig(t), receive(t, nil)
	r.commit("acme", "before", 1) // a new hook begins with what comes
	r.run(r.load(r.file("name: crm\nurl: " + to.URL)))
	r.commit("acme", "oslo", 1, "one", "two")
	r.commit("acme", "oslo", 2, "three")
	list := to.until(func(list []got) bool { return len(list) == 5 })
	want := []string{"acme.oslo.1.0", "acme.oslo.1.1", "acme.oslo.1.2", "acme.oslo.2.0", "acme.oslo.2.1"}
	if !slices.Equal(ids(list), want) {
		t.Errorf("told %v", ids(list))
	}
	if g := list[1]; g.kind != "chat.titled.v1" || g.subject != "oslo" || g.tenant != "acme" || g.rev != 1 || g.data != `{"title":"two"}` {
		t.Errorf("second %+v", g)
	}
}

func TestAHookIsToldWhatItWants(t *testing.T) {
	t.Parallel()
	r, to := newRig(t), receive(t, nil)
	r.commit("acme", "oslo", 1, "from the start")
	r.run(r.load(r.file("name: crm\nurl: " + to.URL + "\ntenants: [acme]\nevents: [chat.titled]\nfrom: start")))
	r.commit("other", "oslo", 1, "of another tenant")
	r.commit("acme", "oslo", 2, "last")
	list := to.until(func(list []got) bool { return len(list) >= 2 })
	if want := []string{"acme.oslo.1.0", "acme.oslo.2.0"}; !slices.Equal(ids(list), want) {
		t.Errorf("told %v", ids(list))
	}
}

// What goes wrong with a request is not the end of it.
func TestWhatIsNotTakenComesAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	troubles := []func(w http.ResponseWriter, q *http.Request){
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }, // hangs
		func(w http.ResponseWriter, _ *http.Request) { // closes
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = c.Close()
			}
		},
		func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "/elsewhere", http.StatusTemporaryRedirect)
		},
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, // being deployed
	}
	to := receive(t, func(w http.ResponseWriter, q *http.Request, _ got) bool {
		if q.URL.Path != "/hook" {
			t.Errorf("it was led to %s", q.URL)
		}
		n := int(requests.Add(1)) - 1
		if n >= len(troubles) {
			return true
		}
		troubles[n](w, q)
		return false
	})
	r := newRig(t)
	r.run(r.load(r.file("name: crm\nurl: " + to.URL + "/hook\ntimeout: 200ms")))
	begun := time.Now()
	r.commit("acme", "oslo", 1)
	r.commit("acme", "oslo", 2)
	list := to.until(func(list []got) bool { return len(list) >= 2 })
	if !slices.Equal(ids(list), []string{"acme.oslo.1.0", "acme.oslo.2.0"}) || requests.Load() != int64(len(troubles)+2) {
		t.Errorf("told %v in %d requests", ids(list), requests.Load())
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it took %v: Retry-After was not looked at", took)
	}
}

func TestAReceiverThatIsAwayHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	r, to := newRig(t), receive(t, nil)
	away := receive(t, nil)
	away.Close()
	r.run(r.load(r.file("name: away\nurl: "+away.URL, "name: crm\nurl: "+to.URL)))
	for rev := range uint64(20) {
		r.commit("acme", "oslo", rev+1)
	}
	to.until(func(list []got) bool { return len(list) == 20 })
}

func TestAReceiverThatIsGoneIsToldNothingMore(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	gone.Store(true)
	to := receive(t, func(w http.ResponseWriter, _ *http.Request, _ got) bool {
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
			return false
		}
		return true
	})
	r := newRig(t)
	f := r.load(r.file("name: crm\nurl: " + to.URL))
	stop := r.run(f)
	r.commit("acme", "oslo", 1)
	r.await("it is told to stop", func() bool { return strings.Contains(r.log.String(), "gone for good") })
	r.commit("acme", "oslo", 2)
	stop()
	if n := to.requests(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	gone.Store(false) // somebody has put it up again, and starts the process anew
	r.run(f)
	list := to.until(func(list []got) bool { return len(list) == 2 })
	if !slices.Equal(ids(list), []string{"acme.oslo.1.0", "acme.oslo.2.0"}) {
		t.Errorf("told %v", ids(list))
	}
}

// An event that nobody takes is set aside, and what comes after it goes on.
func TestWhatNobodyTakesIsSetAsideAndCanBeSentAgain(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	to := receive(t, func(w http.ResponseWriter, _ *http.Request, g got) bool {
		switch {
		case well.Load():
			return true
		case g.rev == 1: // it does not want this one
			w.WriteHeader(http.StatusUnprocessableEntity)
			return false
		case g.rev == 2: // and cannot take this one
			w.WriteHeader(http.StatusInternalServerError)
			return false
		}
		return true
	})
	r := newRig(t)
	f := r.load(r.file("name: crm\nurl: " + to.URL + "/hidden\nretry_for: 300ms"))
	r.run(f)
	for rev := range uint64(3) {
		r.commit("acme", "oslo", rev+1)
	}
	list := to.until(func(list []got) bool { return len(list) == 1 })
	if list[0].id != "acme.oslo.3.0" {
		t.Errorf("told %v", ids(list))
	}
	if log := r.log.String(); strings.Contains(log, "hidden") || strings.Contains(log, "whsec") || strings.Contains(log, string(secret)) {
		t.Errorf("the log says too much: %s", log)
	}
	text, err := os.ReadFile(f.DeadLetters)
	if err != nil || strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), `"why":"status 422 Unprocessable Entity","tries":5`) {
		t.Errorf("letters %s: %v", text, err)
	}
	r.await("the third one is counted", func() bool { return r.counted("taken") == 1 })
	if failed, aside := r.counted("failed"), r.counted("set_aside"); failed < 6 || aside != 2 {
		t.Errorf("%d tries failed, and %d events were set aside; want 6 or more, and 2", failed, aside)
	}
	sent := r.redrive(f)
	if len(sent) != 2 || sent[0].Sent || sent[1].Sent {
		t.Errorf("sent again in vain: %+v", sent)
	}
	well.Store(true)
	sent = r.redrive(f)
	if len(sent) != 2 || !sent[0].Sent || !sent[1].Sent {
		t.Errorf("sent again: %+v", sent)
	}
	if list := ids(to.taken()); !slices.Equal(list[1:], []string{"acme.oslo.1.0", "acme.oslo.2.0"}) {
		t.Errorf("told %v", list)
	}
	if again := r.redrive(f); len(again) != 0 {
		t.Errorf("still there: %+v", again)
	}
}

// A receiver that asks for more time than an event has gets it again at the end of that
// time, and not everything is set aside at once.
func TestAReceiverMayAskForMuchTime(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	to := receive(t, func(w http.ResponseWriter, _ *http.Request, _ got) bool {
		if asked.Swap(true) {
			return true
		}
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})
	r := newRig(t)
	f := r.load(r.file("name: crm\nurl: " + to.URL + "\nretry_for: 500ms"))
	r.run(f)
	r.commit("acme", "oslo", 1)
	r.commit("acme", "oslo", 2)
	if list := to.until(func(list []got) bool { return len(list) >= 1 }); list[0].id != "acme.oslo.1.0" {
		t.Errorf("told %v first", ids(list))
	}
	if _, err := os.Stat(f.DeadLetters); err == nil {
		t.Error("something was set aside")
	}
}

// redrive sends what was set aside once more.
func (r *rig) redrive(f webhook.File) []webhook.Redriven {
	r.Helper()
	var list []webhook.Redriven
	sender := webhook.NewSender("0.0.0", time.Now)
	err := webhook.Redrive(r.Context(), f, sender, "", r.stored, func(one webhook.Redriven) error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// A process that is killed at any moment loses nothing, and the order of a chat stays.
func TestEverythingIsToldWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	const kills, chats, revs = 6, 8, 30
	r, to := newRig(t), receive(t, nil)
	path := r.file("name: crm\nurl: " + to.URL + "\nfrom: start\nevents: [chat.archived]")
	for rev := range uint64(revs) {
		for chat := range chats {
			r.commit("acme", fmt.Sprintf("chat%d", chat), rev+1)
		}
	}
	for n := range kills {
		at := (n + 1) * chats * revs / (kills + 1)
		p := r.process(path)
		to.until(func(list []got) bool { return len(list) >= at })
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
	}
	p := r.process(path)
	defer func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	}()
	told := map[string][]int32{}
	list := to.until(func(list []got) bool {
		different := map[string]bool{}
		for _, g := range list {
			different[g.id] = true
		}
		return len(different) == chats*revs
	})
	for _, g := range list {
		revsOf := told[g.subject]
		if len(revsOf) == 0 || revsOf[len(revsOf)-1] != g.rev { // what comes twice comes at once
			told[g.subject] = append(revsOf, g.rev)
		}
	}
	for chat, got := range told {
		if len(got) != revs || !slices.IsSorted(got) {
			t.Errorf("%s is told as %v", chat, got)
		}
	}
	t.Logf("%d events were told in %d requests, over %d kills", chats*revs, len(list), kills)
}

// process is one that only sends webhooks.
func (r *rig) process(path string) *exec.Cmd {
	r.Helper()
	self, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	p := exec.CommandContext(r.Context(), self)
	user, password := r.server.Credentials()
	url := strings.Replace(r.server.URL(), "://", "://"+user+":"+password+"@", 1)
	p.Env = append(os.Environ(), childURL+"="+url, childFile+"="+path, secretEnv+"="+secretText())
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		r.Fatal(err)
	}
	return p
}
