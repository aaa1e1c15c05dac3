package streams

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Percent of a limit at which somebody should know: time to plan, and time to act.
const (
	FullWarn  = 70
	FullAlarm = 85
)

// Fullness is how full something with a limit is.
type Fullness struct {
	Name  string // of the stream, or what else has a limit
	Bytes uint64
	Limit uint64 // 0 is none
}

// fullness of a stream. One whose content passes by, such as FEED, is full when
// all is well and has no limit here.
func fullness(s *jetstream.StreamInfo) Fullness {
	f := Fullness{Name: s.Config.Name, Bytes: s.State.Bytes}
	if s.Config.MaxBytes > 0 && s.Config.Name != FeedStream {
		f.Limit = uint64(s.Config.MaxBytes)
	}
	return f
}

// Percent of the limit that is used, 0 without one.
func (f Fullness) Percent() int {
	if f.Limit == 0 {
		return 0
	}
	return int(f.Bytes * 100 / f.Limit)
}

// String is for people.
func (f Fullness) String() string {
	const mebibyte = 1 << 20
	return fmt.Sprintf("%s is %d %% full (%d of %d MiB)", f.Name, f.Percent(), f.Bytes/mebibyte, f.Limit/mebibyte)
}

// Fill gives how full every stream is, of whoever is its owner.
func Fill(ctx context.Context, js jetstream.JetStream) ([]Fullness, error) {
	var all []Fullness
	list := js.ListStreams(ctx)
	for s := range list.Info() {
		all = append(all, fullness(s))
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list streams: %w", explain(err))
	}
	return all, nil
}
