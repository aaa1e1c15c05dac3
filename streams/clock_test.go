package streams_test

import (
	"errors"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

func TestClocksAgreeWithinTheSkew(t *testing.T) {
	t.Parallel()
	s := bareServer(t, nil)
	js := clientOf(t, s)
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	for _, tt := range []struct {
		name  string
		ahead time.Duration
		agree bool
	}{
		{"the same clock agrees", 0, true},
		{"a little ahead agrees", events.Skew / 2, true},
		{"a little behind agrees", -events.Skew / 2, true},
		{"far ahead does not", 2 * events.Skew, false},
		{"far behind does not", -2 * events.Skew, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := func() time.Time { return time.Now().Add(tt.ahead) }
			got, err := streams.ClockOffset(t.Context(), js.Conn(), streams.Options{}, now)
			if err != nil {
				t.Fatal(err)
			}
			if off := (got.Ahead - tt.ahead).Abs(); off > got.Within+time.Millisecond {
				t.Errorf("%v ahead within %v, want %v", got.Ahead, got.Within, tt.ahead)
			}
			err = streams.CheckClock(t.Context(), js.Conn(), streams.Options{}, now)
			if wrong := new(*streams.ClockError); errors.As(err, wrong) == tt.agree || tt.agree && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
