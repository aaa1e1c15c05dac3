package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
)

func TestATranscriptAtATimeItPrinted(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("hello\n", "chat", "--chat", "c1")
	now := b.command("", "transcript", "c1").out
	says(t, "the transcript", now, "; times in "+time.Now().Format("MST"))
	at := regexp.MustCompile(`\n\[(.*)\] assistant`).FindStringSubmatch(now)
	if at == nil {
		t.Fatalf("there is no answer:\n%s", now)
	}
	r := b.command("", "transcript", "c1", "--at", at[1])
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the transcript of then", r.out, "you said: hello")
}

func TestAPointMeansWhatItSays(t *testing.T) {
	t.Parallel()
	p, err := point("2026-11-29 20:04:53")
	if err != nil {
		t.Fatal(err)
	}
	if want := events.At(time.Date(2026, 11, 29, 20, 4, 53, 999e6, time.Local)); p.Time != want {
		t.Errorf("it is %v, want %v", p.Time, want)
	}
}

func TestARevThatIsNotThereIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("hello\n", "chat", "--chat", "c1")
	r := b.command("", "transcript", "c1", "--at", "99")
	if r.code != 3 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the error", r.failure.Error(), "chat c1 has 3 revs")
}
