package sim

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// faultMessage is how an orchestrator reports a failure of its own: a panic, or
// something that is stored and that it cannot read.
const faultMessage = "fault"

// failings are the failures of their own that orchestrators report. None is ever
// right here: whatever goes wrong in a run is of the world's making.
type failings struct {
	mu   sync.Mutex
	list []string
}

// all lists them, in no order.
func (f *failings) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}

// of is the log of a process.
func (f *failings) of(process string) *slog.Logger { return slog.New(faultHandler{f, process}) }

// faultHandler keeps nothing but faults.
type faultHandler struct {
	failings *failings
	process  string
}

// Enabled implements [slog.Handler].
func (h faultHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

// Handle implements [slog.Handler].
func (h faultHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message != faultMessage {
		return nil
	}
	words := []string{h.process + ":"}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stack" { // it names addresses, which differ from run to run
			words = append(words, a.String())
		}
		return true
	})
	h.failings.mu.Lock()
	defer h.failings.mu.Unlock()
	h.failings.list = append(h.failings.list, strings.Join(words, " "))
	return nil
}

// WithAttrs implements [slog.Handler].
func (h faultHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements [slog.Handler].
func (h faultHandler) WithGroup(string) slog.Handler { return h }
