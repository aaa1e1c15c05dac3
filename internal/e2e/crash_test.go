//go:build processes && crashpoints

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
)

var (
	killsFlag = flag.Int("kills", 3, "how often to die at each point")
	rigsFlag  = flag.Int("rigs", 8, "how many `installations` work at once")
)

// crashes is the work that all rigs share, and what came of it.
type crashes struct {
	recorded
	mu         sync.Mutex
	left       []kill
	kills      int
	unknown    int
	late       int // kills that were done again because the machine stood still
	stillstand stillstand
	recoveries []time.Duration
	settled    []time.Duration
}

func (w *crashes) take() (kill, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == 0 {
		return kill{}, false
	}
	k := w.left[0]
	w.left = w.left[1:]
	return k, true
}

// maxTries is how often a conversation is held until the point is passed in it.
const maxTries = 5

// again puts back a kill whose point was not passed.
func (w *crashes) again(k kill) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.putBack(k)
}

// putBack is again for who holds the mutex.
func (w *crashes) putBack(k kill) bool {
	k.tries++
	if k.tries == maxTries {
		return false
	}
	w.left = append(w.left, k)
	return true
}

// work takes kills until none is left.
func (r *crashRig) work(w *crashes) {
	r.t.Helper()
	next := r.prepare(w)
	for next != nil {
		current := next
		if r.deaths[current.victim] != current {
			r.kill(current.victim)
			r.run(current.victim, current)
		}
		if current.at.Chat == "" && current.victim == theOrchestrator {
			r.kill(theRunner) // so that it comes and offers its tools
			r.run(theRunner, nil)
		}
		next = r.prepare(w)
		r.die(w, current, next)
		if next == nil { // unless that one was put back
			next = r.prepare(w)
		}
	}
	r.check(r.read, r.keys)
	r.eachEffectOnce(r.keys)
}

func (r *crashRig) prepare(w *crashes) *armed {
	k, ok := w.take()
	if !ok {
		return nil
	}
	return &armed{kill: k, key: r.newKey()}
}

// pastTheEnd is for how long a process that has ended its turn may still pass
// the point it is to die at.
const pastTheEnd = 3 * time.Second

// die holds a conversation in which a process dies, starts that again, ready for
// its next death, and compares what came of it with an undisturbed conversation.
func (r *crashRig) die(w *crashes, current, next *armed) {
	r.t.Helper()
	type result struct {
		history
		err error
	}
	ended := make(chan result, 1)
	ctx := patient(r.t)
	go func() {
		h, err := r.talk(ctx, current.key, current.talk)
		ended <- result{h, err}
	}()
	victim := r.running[current.victim]
	var got result
	select {
	case <-victim.done:
	case got = <-ended:
		ended <- got
		select {
		case <-victim.done:
		case <-time.After(pastTheEnd):
			if got.err != nil || !w.again(current.kill) {
				r.t.Errorf("%v: the point was not passed (%v)\n%s", current, got.err, got.history)
			}
			return
		}
	}
	killed := time.Now()
	if status, ok := victim.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		r.t.Fatalf("%v: ended otherwise: %v", current, victim.end)
	}
	if next != nil && (next.victim != current.victim || next.at.Chat == "") {
		next = nil
	}
	r.run(current.victim, next)
	got = <-ended
	if got.err != nil {
		r.t.Errorf("%v, killed: %v\n%s", current, got.err, got.history)
		return
	}
	w.judge(r.t, current, got.history, killed)
}

// judge compares the outcome, and notes how long it took.
func (w *crashes) judge(t *testing.T, a *armed, h history, killed time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kills++
	want, got := w.outcomes[a.talk.says], h.outcome(a.key)
	gap, waited := h.gapAfter(killed)
	switch {
	case h.unknown() && a.victim == theRunner && h.lostEffect(killed):
		w.unknown++
		w.settled = append(w.settled, gap)
		if !strings.Contains(got.Text, "unknown") {
			t.Errorf("%v: the model was not told of the lost effect, but %q", a, got.Text)
		}
		// What is unknown, and that it was told, may differ; nothing else.
		want.Text = got.Text
		want.Calls = slices.Clone(want.Calls)
		for i := range min(len(want.Calls), len(got.Calls)) {
			if got.Calls[i].Status == events.ToolUnknown {
				want.Calls[i].Status, want.Calls[i].Text = events.ToolUnknown, got.Calls[i].Text
			}
		}
	case waited:
		w.recoveries = append(w.recoveries, gap)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		if w.stillstand.since(killed) > tooStill {
			if w.putBack(a.kill) {
				w.kills, w.late = w.kills-1, w.late+1
				return
			}
		}
		t.Errorf("%v: another outcome than undisturbed (-want +got):\n%s\n%s%s", a, diff, h, h.times(killed))
	}
}

// A process that dies between any two effects, and is started again, changes no
// text, no call and no result; no effect happens twice. The one exception is by
// design: an effect that may not happen twice and was cut off ends as unknown.
func TestCrashPoints(t *testing.T) {
	tagged := t.TempDir()
	for _, name := range []string{theOrchestrator, theRunner} {
		cmd := exec.Command("go", "build", "-tags", "crashpoints", "-o", filepath.Join(tagged, name), "../../cmd/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	w := &crashes{}
	t.Run("undisturbed", func(t *testing.T) { w.recorded = startCrashRig(t, tagged).record() })
	if t.Failed() {
		return
	}
	// The runner's first: some of them take long, and should not come last.
	slices.SortStableFunc(w.points, func(a, b kill) int { return strings.Compare(b.victim, a.victim) })
	for _, k := range w.points {
		for range *killsFlag {
			w.left = append(w.left, k)
		}
	}
	want := len(w.left)
	began := time.Now()
	watching, stop := context.WithCancel(t.Context())
	var rigs, watcher sync.WaitGroup
	watcher.Go(func() { w.stillstand.watch(watching, filepath.Join(t.TempDir(), "tick")) })
	defer watcher.Wait()
	defer stop()
	for n := range *rigsFlag {
		rigs.Go(func() {
			t.Run(fmt.Sprint("rig ", n+1), func(t *testing.T) { startCrashRig(t, tagged).work(w) })
		})
	}
	rigs.Wait()
	if w.kills < want {
		t.Errorf("%d kills of %d came to an outcome", w.kills, want)
	}
	slices.Sort(w.recoveries)
	t.Logf("done again because the machine stood still for more than %v: %d; it did for %v", tooStill, w.late, rounded(w.stillstand.since(began)))
	t.Logf("points that a recording passed and another did not, so not used: %q", w.fleeting)
	verdict := "see above what was lost or came twice"
	if !t.Failed() {
		verdict = "0 lost, 0 double"
	}
	t.Logf("%d points, %d kills in %v: %s\nrecovery p50 %v, p99 %v, longest %v; %d effects were cut off and are unknown, settled within %v",
		len(w.points), w.kills, rounded(time.Since(began)), verdict,
		rounded(quantile(w.recoveries, 50)), rounded(quantile(w.recoveries, 99)), rounded(quantile(w.recoveries, 100)),
		w.unknown, rounded(slices.Max(append(w.settled, 0))))
}

// quantile of a sorted list.
func quantile(list []time.Duration, percent int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[(len(list)-1)*percent/100]
}
