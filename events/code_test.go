package events_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	exits := []int{1, 2, 3, 4, 5, 9}
	var listed []string
	for _, info := range events.Codes() {
		if slices.Contains(listed, string(info.Code)) {
			t.Errorf("%s stands in the table twice", info.Code)
		}
		listed = append(listed, string(info.Code))
		if !slices.Contains(exits, info.Exit) {
			t.Errorf("%s: exit code %d is none of a refusal", info.Code, info.Exit)
		}
		if info.HTTP < 400 || http.StatusText(info.HTTP) == "" {
			t.Errorf("%s: status %d says no error", info.Code, info.HTTP)
		}
		if !strings.HasSuffix(info.Meaning, ".") {
			t.Errorf("%s: the meaning is no sentence: %q", info.Code, info.Meaning)
		}
		if info.Code.Info() != info {
			t.Errorf("%s: Info gives %v", info.Code, info.Code.Info())
		}
	}
	for _, code := range constants(t, "code.go", "Code") {
		if !slices.Contains(listed, code) {
			t.Errorf("%s is not in the table", code)
		}
	}
}

func TestUnknownCodeIsAPlainFailure(t *testing.T) {
	t.Parallel()
	want := events.CodeInfo{Code: "made_up", Exit: 1, HTTP: http.StatusInternalServerError}
	if got := events.Code("made_up").Info(); got != want {
		t.Errorf("got %v", got)
	}
}

// Asking again helps for what passes by itself, and for nothing a person has to mend.
func TestRetryable(t *testing.T) {
	t.Parallel()
	retryable := []events.ErrorClass{
		events.ClassIncomplete, events.ClassOverloaded, events.ClassRateLimit, events.ClassTimeout,
		events.ClassStreamSilence, events.ClassTransport, events.ClassInternal, events.ClassCrashed,
	}
	for _, name := range append(constants(t, "class.go", "ErrorClass"), "a_class_of_tomorrow") {
		class := events.ErrorClass(name)
		if got := class.Retryable(); got != slices.Contains(retryable, class) {
			t.Errorf("%s: Retryable = %v", class, got)
		}
		if class.Interrupted() && !class.Retryable() {
			t.Errorf("%s: a stream that broke off can be asked for again", class)
		}
	}
}
