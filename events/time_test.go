package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"pgregory.net/rapid"
)

func TestTimeAsText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want string // empty: refused
	}{
		{"2026-11-29T12:00:00.123Z", "2026-11-29T12:00:00.123Z"},
		{"2026-11-29T12:00:00Z", "2026-11-29T12:00:00.000Z"},
		{"2026-11-29T12:00:00.1239999Z", "2026-11-29T12:00:00.123Z"},
		{"2026-11-29T13:00:00+01:00", "2026-11-29T12:00:00.000Z"},
		{"2026-11-29", ""},
		{"2026-11-29 12:00:00Z", ""},
		{"2026-02-30T12:00:00Z", ""},
		{"2026-11-29T12:00:00", ""},
		{"1795953600", ""},
		{"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
		{"9999-12-31T23:59:59-01:00", ""},
		{"0000-01-01T00:00:00+01:00", ""},
		{"", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			var got events.Time
			err := got.UnmarshalText([]byte(tt.text))
			if tt.want == "" {
				if err == nil {
					t.Errorf("taken for %s", got)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestTimeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := events.Time(rapid.Int64Range(-1<<40, 1<<46).Draw(t, "ms"))
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got events.Time
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Errorf("%s decodes to %d, %v; want %d", b, got, err, want)
		}
		if want != 0 && events.At(want.Time()) != want {
			t.Errorf("%v as a time.Time is another instant", want)
		}
	})
}

func TestTimeArithmetic(t *testing.T) {
	t.Parallel()
	if got := noon.Add(1500 * time.Millisecond).Sub(noon); got != 1500*time.Millisecond {
		t.Errorf("difference is %v", got)
	}
	if got := noon.Add(999 * time.Microsecond); got != noon {
		t.Errorf("less than a millisecond moved it to %v", got)
	}
}

func TestZeroTimeMeansNone(t *testing.T) {
	t.Parallel()
	if events.At(time.Time{}) != 0 || !events.Time(0).Time().IsZero() {
		t.Error("zero does not stay zero")
	}
	local := time.Date(2026, 11, 29, 12, 0, 0, 0, time.FixedZone("far away", 9*3600))
	if got := events.At(local).Time(); got.Location() != time.UTC || !got.Equal(local) {
		t.Errorf("got %v for %v", got, local)
	}
}
