package mcp_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/mcp"
)

// pendingMost is how long a call may wait for a server that has ended.
const pendingMost = 5 * time.Second

func TestB51_AServerThatExitsDuringACall(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_EFFECTS": effects}, nil)})
	r.tool("fake__exit")
	began := time.Now()
	_, err := r.run("fake__exit", call(`{}`), patience)
	if took := time.Since(began); !errors.Is(err, toolrunner.ErrOutcomeUnknown) || took > pendingMost {
		t.Errorf("after %v: %v; want that nobody knows", took, err)
	}
	if !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("it is not said how it ended: %v", err)
	}
	r.wantText("fake__echo", `{"text":"again"}`, "again under key-1") // by the next one, without a word
	if got := lines(t, effects); strings.Join(got, " ") != "exit echo" {
		t.Errorf("effects: %v; want each call once", got)
	}
}

// A call that waits fails with its server, whoever made that end.
func TestB51_CallsThatWaitFailWithTheirServer(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	failed := make(chan error)
	r.tool("fake__never")
	for range 3 {
		go func() {
			_, err := r.run("fake__never", call(`{}`), patience)
			failed <- err
		}()
	}
	_, _ = r.run("fake__exit", call(`{}`), patience)
	late := time.After(pendingMost)
	for range 3 {
		select {
		case err := <-failed:
			if err == nil {
				t.Error("a call without an answer succeeded")
			}
		case <-late:
			t.Fatal("a call waits for a server that has ended")
		}
	}
}

func TestB51_AServerThatIsStopped(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_STARTS": starts}, nil)})
	r.tool("fake__stop")
	began := time.Now()
	_, err := r.run("fake__stop", call(`{}`), 500*time.Millisecond)
	if took := time.Since(began); err == nil || took > pendingMost {
		t.Errorf("after %v: %v; want the end of its time", took, err)
	}
	r.wantText("fake__echo", `{"text":"again"}`, "again under key-1") // once it was found silent, by another
	if got := lines(t, starts); len(got) != 2 {
		t.Errorf("%d starts, want 2", len(got))
	}
}

func TestB51_AServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	starts, effects := filepath.Join(dir, "starts"), filepath.Join(dir, "effects")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_STARTS": starts, "FAKE_EFFECTS": effects}, nil)})
	r.tool("fake__never")
	began := time.Now()
	_, err := r.run("fake__never", call(`{}`), 300*time.Millisecond)
	if took := time.Since(began); err == nil || took > pendingMost {
		t.Errorf("after %v: %v; want the end of its time", took, err)
	}
	r.wait("the server is told that nobody waits", func() bool { return strings.Contains(strings.Join(lines(t, effects), " "), "cancelled") })
	r.wantText("fake__echo", `{"text":"still"}`, "still under key-1")
	if got := lines(t, starts); len(got) != 1 {
		t.Errorf("%d starts: a server that answers pings is started again", len(got))
	}
}

func TestB51_AServerThatPrintsTextWhereMessagesShouldBe(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	r.wantText("fake__noise", `{}`, "after the noise")
	if !strings.Contains(r.log.String(), "Listening on nothing") {
		t.Error("nobody is told of the text")
	}
}

func TestB51_AServerThatAnswersTwice(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	r.wantText("fake__twice", `{}`, "first")
	r.wantText("fake__echo", `{"text":"next"}`, "next under key-1")
}

// Ninety seconds, a hundred times as fast: it is told of, it is waited for, and others
// work meanwhile.
func TestB51_AServerThatTakesLongToStart(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Slow = 100 * time.Millisecond
	r := serve(t, times, map[string]entry{
		"slow": fakeServer(t, map[string]string{"FAKE_SLOW": "900ms"}, nil),
		"fast": fakeServer(t, nil, nil),
	})
	r.wantText("fast__echo", `{"text":"hello"}`, "hello under key-1")
	if strings.Contains(strings.Join(r.offered(), " "), "slow__") {
		t.Error("the slow one is there already: this shows nothing")
	}
	r.wantText("slow__echo", `{"text":"at last"}`, "at last under key-1")
	if log := r.log.String(); !strings.Contains(log, "has not named its tools yet") {
		t.Error("nobody is told of the slow one")
	}
}

func TestB51_AServerThatNeverStarts(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Start, times.Restart = 200*time.Millisecond, time.Second
	r := serve(t, times, map[string]entry{
		"never": fakeServer(t, map[string]string{"FAKE_SLOW": "1h"}, nil),
		"fast":  fakeServer(t, nil, nil),
	})
	r.wantText("fast__echo", `{"text":"hello"}`, "hello under key-1")
	r.wait("it is told of", func() bool { return strings.Contains(r.log.String(), "has not named its tools in 200ms") })
}

// The pauses between two starts double, so that in a given time there are few.
func TestB51_RestartIsBounded(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	times := quick()
	times.Restart = 40 * time.Millisecond
	began := time.Now()
	r := serve(t, times, map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_STARTS": starts, "FAKE_CRASHES": "1", "FAKE_TOKEN": "${TOKEN}"}, nil)})
	r.wait("some starts", func() bool { return len(lines(t, starts)) >= 8 }) // four times two: with each protocol
	if took := time.Since(began); took < (1+2+4)*times.Restart {
		t.Errorf("8 starts in %v: the pauses do not grow", took)
	}
	log := r.log.String()
	if !strings.Contains(log, "exit code 7") || !strings.Contains(log, "no configuration") {
		t.Error("it is not said why it does not start")
	}
	if strings.Contains(log, "value-of-TOKEN") || !strings.Contains(log, "${TOKEN}") {
		t.Error("a secret is in the log")
	}
}

// What a call waits for is there again soon, or it fails: nothing was done.
func TestACallOfAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	times := mcp.Times{Start: patience, Slow: patience, Ready: 200 * time.Millisecond, Ping: time.Second, Restart: time.Hour}
	r := serve(t, times, map[string]entry{"fake": fakeServer(t, nil, nil)})
	_, _ = r.run("fake__exit", call(`{}`), patience)
	_, err := r.run("fake__echo", call(`{}`), patience)
	if err == nil || errors.Is(err, toolrunner.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("%v; want that nothing was done", err)
	}
}

// Some servers end when they are asked which versions of the protocol they know.
func TestAServerThatEndsOnTheQuestionForVersions(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_STARTS": starts, "FAKE_DIES_ON_DISCOVER": "1"}, nil)})
	r.wantText("fake__echo", `{"text":"hello"}`, "hello under key-1")
	if got := lines(t, starts); len(got) != 2 {
		t.Errorf("%d starts, want 2", len(got))
	}
}

func TestAMessageThatIsTooLargeEndsTheSession(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	_, err := r.run("fake__large", call(`{}`), patience)
	if !errors.Is(err, toolrunner.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("%v", err)
	}
	r.wantText("fake__echo", `{"text":"again"}`, "again under key-1")
}

// What a server asks is answered. One that does not read the answers is ended, before
// they fill the memory.
func TestAServerThatAsksAndDoesNotReadIsEnded(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	r.tool("fake__deaf")
	began := time.Now()
	_, err := r.run("fake__deaf", call(`{}`), patience)
	if took := time.Since(began); !errors.Is(err, toolrunner.ErrOutcomeUnknown) || took > patience/2 {
		t.Errorf("after %v: %v; want that nobody knows", took, err)
	}
	r.wantText("fake__echo", `{"text":"again"}`, "again under key-1")
}

// A server that is not started soon is not waited for: each call that waits keeps the
// place of another one.
func TestACallOfAServerThatRestsFailsAtOnce(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Ready, times.Restart = patience, time.Hour
	r := serve(t, times, map[string]entry{"fake": fakeServer(t, nil, nil)})
	_, _ = r.run("fake__exit", call(`{}`), patience)
	began := time.Now()
	_, err := r.run("fake__echo", call(`{}`), patience)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "nothing was done") || took > patience/2 {
		t.Errorf("after %v: %v; want at once that nothing was done", took, err)
	}
}

// A line is cut, and a secret in it is not: no half of one is left.
func TestNoHalfOfASecretIsLogged(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Restart = time.Hour
	r := serve(t, times, map[string]entry{"fake": fakeServer(t, map[string]string{
		"FAKE_CRASHES": "1", "FAKE_TOKEN": "${TOKEN}", "FAKE_PADDING": strings.Repeat("x", 470),
	}, nil)})
	r.wait("it is told of", func() bool { return strings.Contains(r.log.String(), "tried again") })
	if log := r.log.String(); strings.Contains(log, "value-of") || !strings.Contains(log, "no configuration") {
		t.Error("a part of a secret is in the log")
	}
}
