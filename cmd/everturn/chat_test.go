package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestAChatLineByLine(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("hello\n\nhow are you?\n/quit\nnever said\n", "chat", "--chat", "c1")
	if want := "you said: hello\nyou said: how are you?\n"; r.code != 0 || r.out != want {
		t.Errorf("code %d, out %q, want %q; %v", r.code, r.out, want, r.failure)
	}
	if more := b.command("again\n", "chat", "--chat", "c1"); more.out != "you said: again\n" {
		t.Errorf("out %q", more.out)
	}
	shown := b.command("", "transcript", "c1").out
	says(t, "transcript", shown, "how are you?", "you said: again")
	if strings.Contains(shown, "never said") {
		t.Errorf("said after /quit:\n%s", shown)
	}
}

func TestAChatWhoseLastTurnFailsEndsWithTheProvidersCode(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("fail\n", "chat")
	if r.code != 7 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the error", r.failure.Error(), "invalid_request", "as asked")
	if r := b.command("fail\nhello\n", "chat"); r.code != 0 {
		t.Errorf("a turn that was answered later: code %d: %v", r.code, r.failure)
	}
}

// conversation is a chat whose lines and signals the test gives.
type conversation struct {
	*laptop
	out, err *buffer
	lines    *io.PipeWriter
	signals  chan os.Signal
	ended    chan ran
}

func converse(b *laptop, chat string) *conversation {
	read, write := io.Pipe()
	c := &conversation{
		laptop: b, out: &buffer{written: make(chan struct{}, 1)}, err: &buffer{written: make(chan struct{}, 1)},
		lines: write, signals: make(chan os.Signal, 1), ended: make(chan ran, 1),
	}
	go func() {
		c.ended <- commandInto(b.T, c.out, c.err, read, c.signals, "chat", "--chat", chat, "--server", b.url)
	}()
	return c
}

func (c *conversation) say(line string) {
	c.Helper()
	if _, err := io.WriteString(c.lines, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

// Rule: S6.3.
func TestTheFirstInterruptEndsTheTurnOnly(t *testing.T) {
	t.Parallel()
	c := converse(dev(t), "c1")
	c.say("wait")
	c.out.await(t.Context(), "one moment")
	c.signals <- os.Interrupt
	c.out.await(t.Context(), "[turn 1 was interrupted]")
	c.say("hello")
	c.out.await(t.Context(), "you said: hello")
	c.say("/quit")
	r := <-c.ended
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "standard error", r.err, "interrupting turn 1")
	says(t, "the transcript", c.command("", "transcript", "c1").out, "turn 1 interrupted: interrupted at the command line")
}

// A line with a slash does something to the turn that runs, and the answer to it
// is shown when its time comes; any other line waits for the end.
func TestALineStopsTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	c := converse(dev(t), "c1")
	c.say("wait")
	c.out.await(t.Context(), "one moment")
	c.say("/interrupt hello")
	c.out.await(t.Context(), "you said: hello")
	c.say("/steer and you?") // no turn runs, or one that ends
	c.out.await(t.Context(), "you said: and you?")
	c.say("wait")
	c.out.await(t.Context(), "[turn 1 was interrupted]")
	c.say("/rollback never mind")
	c.out.await(t.Context(), "you said: never mind")
	c.say("/interrupt ")
	c.say("/quit")
	r := <-c.ended
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "standard error", r.err, "/interrupt wants a text behind it")
	says(t, "the log", c.log("c1"), `"mode":"interrupt"`, `"mode":"steer"`, `"mode":"rollback"`)
}

// Lines from a program are told apart as those of a person.
func TestAScriptSteersAndStops(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("wait\n/interrupt hello\nhow are you?\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "out", r.out, "[turn 1 was interrupted]", "you said: hello\nyou said: how are you?\n")
}

func TestTheSecondInterruptLeaves(t *testing.T) {
	t.Parallel()
	c := converse(dev(t), "c1")
	c.say("wait")
	c.out.await(t.Context(), "one moment")
	c.signals <- os.Interrupt
	c.signals <- os.Interrupt
	// Whether the turn has ended before the second one: it leaves either way.
	if r := <-c.ended; r.code != 130 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}

func TestAnInterruptBetweenTurnsLeaves(t *testing.T) {
	t.Parallel()
	c := converse(dev(t), "c1")
	c.say("hello")
	// The answer is shown before its turn has ended; this line is followed between
	// turns only.
	c.say("/help")
	c.err.await(t.Context(), chatHelp)
	c.signals <- os.Interrupt
	if r := <-c.ended; r.code != 130 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}

func TestTailShowsATurnThatRuns(t *testing.T) {
	t.Parallel()
	b := dev(t)
	if r := b.command("", "send", "--chat", "c1", "wait"); r.code != 0 {
		t.Fatal(r.failure)
	}
	out := &buffer{written: make(chan struct{}, 1)}
	errs := &buffer{written: make(chan struct{}, 1)}
	ended := make(chan ran, 1)
	go func() {
		ended <- commandInto(b.T, out, errs, strings.NewReader(""), nil, "tail", "c1", "--json", "--until-idle", "--server", b.url)
	}()
	errs.await(t.Context(), "rev 2, running")
	if r := b.command("", "interrupt", "c1", "--turn", "1"); r.code != 0 {
		t.Fatal(r.failure)
	}
	r := <-ended
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "tail", r.out, "turn.interrupt_requested.v1", "turn.interrupted.v1")
	objects(t, "tail", r.out)
}

func TestNoTerminalTakesOrdersFromAModel(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("escape\n", "chat")
	if r.code != 0 || strings.Contains(r.out, "\x1b") {
		t.Errorf("code %d, out %q", r.code, r.out)
	}
}

// A mistyped command is no question for a model.
func TestWhatBeginsWithASlashIsNotSaid(t *testing.T) {
	t.Parallel()
	r := dev(t).command("/qiut now\n//usr/bin\n", "chat")
	if r.code != 0 || r.out != "you said: /usr/bin\n" {
		t.Errorf("code %d, out %q; %v", r.code, r.out, r.failure)
	}
	says(t, "standard error", r.err, "there is no /qiut", "/help")
}
