package events

import (
	"fmt"
	"time"
)

// Time is an instant in milliseconds since 1970 UTC, the resolution of the
// wire. In JSON it is RFC 3339 in UTC with three decimals. Zero means none.
type Time int64

// timeLayout always writes three decimals, so that equal instants have equal bytes.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// maxYear is the last that RFC 3339 can write.
const maxYear = 9999

// At is t cut to milliseconds.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Time is the instant in UTC; the zero [time.Time] if t is zero.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.utc()
}

// Add is t moved by d, cut to milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub is the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// String is the wire form.
func (t Time) String() string { return t.utc().Format(timeLayout) }

func (t Time) utc() time.Time { return time.UnixMilli(int64(t)).UTC() }

// MarshalText implements [encoding.TextMarshaler].
func (t Time) MarshalText() ([]byte, error) {
	return t.utc().AppendFormat(make([]byte, 0, len(timeLayout)), timeLayout), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	// A year that is one only where the sender is could not be written again.
	if err != nil || parsed.UTC().Year() < 0 || parsed.UTC().Year() > maxYear {
		return fmt.Errorf("time %q: want RFC 3339", cut(string(text), maxIDBytes))
	}
	*t = At(parsed)
	return nil
}
