package capture_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/toolrunner/capture"
)

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d: %v", n, len(text), err)
	}
}

func TestOfTooMuchTheBeginningAndTheEndAreKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		head, tail int
		written    []string
		want       string
		dropped    int64
	}{
		{4, 2, nil, "", 0},
		{4, 2, []string{"abcd", "ef"}, "abcdef", 0},
		{4, 2, []string{"abcdefg"}, "abcd\n[1 bytes were dropped here: of one command, no more than 6 are kept]\nfg", 1},
		{4, 2, strings.Split("abcdefghijklm", ""), "abcd\n[7 bytes were dropped here: of one command, no more than 6 are kept]\nlm", 7},
		{0, 2, []string{"abc"}, "[1 bytes were dropped here: of one command, no more than 2 are kept]\nbc", 1},
	} {
		o := capture.NewOutput(tt.head, tt.tail)
		for _, text := range tt.written {
			write(t, o, text)
		}
		if got, dropped := o.End(); got != tt.want || dropped != tt.dropped {
			t.Errorf("%q: %q, %d dropped", tt.written, got, dropped)
		}
	}
}

func TestAFollowerShowsWholeLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		f := capture.FollowLines(func(text string) { shown = append(shown, text) })
		tick := func() {
			<-time.After(101 * time.Millisecond)
			synctest.Wait()
		}
		write(t, f, "one\ntw")
		tick()
		write(t, f, "o\n")
		tick()
		write(t, f, "begun"+strings.Repeat("x", 10_000)+"\nthree\nfo")
		tick()
		write(t, f, "ur")
		f.Stop()
		if want := []string{"one\n", "two\n", "three\n", "four"}; fmt.Sprint(shown) != fmt.Sprint(want) {
			t.Errorf("shown %.100q, want %q", shown, want)
		}
	})
}

func TestAFollowerOfBytesShowsTheNewest(t *testing.T) {
	t.Parallel()
	var shown string
	f := capture.Follow(func(text string) { shown += text })
	write(t, f, strings.Repeat("x", 10_000)+"newest")
	f.Stop()
	if len(shown) != 4<<10 || !strings.HasSuffix(shown, "newest") {
		t.Errorf("shown %d bytes: %.20q", len(shown), shown)
	}
}
