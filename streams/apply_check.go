package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoStreams means that the server has no log, or not all of it: nobody applied a
// topology yet, or is about to.
var ErrNoStreams = errors.New("the server has no streams of Everturn, or not all: run `everturn streams apply`")

// ShardsError means that a log was made for another number of shards. Every
// chat's place depends on the number, so chats would seem to be gone.
type ShardsError struct {
	Stream string
	Server string // what its metadata says
	Want   int
}

func (e *ShardsError) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("stream %s does not say for how many shards it was made: it is not a log of Everturn", e.Stream)
	}
	return fmt.Sprintf("stream %s was made for %s shards, not for %d: the number decides where every chat lies and cannot be changed",
		e.Stream, e.Server, e.Want)
}

// UnsafeLogError means that a stream of the log may drop commits, or already
// has. Nothing should run on it: repair it with [ApplyOptions], then verify.
type UnsafeLogError struct {
	Stream   string
	Settings []string // name and value
}

func (e *UnsafeLogError) Error() string {
	return fmt.Sprintf("stream %s could lose commits: %s: somebody changed it; verify the log, then `everturn streams apply --repair`",
		e.Stream, strings.Join(e.Settings, ", "))
}

// RefusedError are the changes that were left undone.
type RefusedError struct{ Changes Plan }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d refused:\n%s", len(e.Changes), e.Changes)
}

// CheckLog is the check before anything runs: that the log is there, complete,
// made for one number of shards, which it gives, and that none of it can drop a
// commit. It needs no topology: the number stands with the streams.
func CheckLog(ctx context.Context, js jetstream.JetStream) (shards int, err error) {
	for n := 0; n == 0 || n < shards; n++ {
		stream, err := js.Stream(ctx, LogStream(n))
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound) && n == 0:
			return 0, ErrNoStreams
		case errors.Is(err, jetstream.ErrStreamNotFound): // somebody may be making them just now
			return 0, fmt.Errorf("check stream %s: %w: %w", LogStream(n), ErrNoStreams, err)
		case err != nil:
			return 0, fmt.Errorf("check stream %s: %w", LogStream(n), explain(err))
		}
		config := stream.CachedInfo().Config
		if n == 0 {
			if shards, err = strconv.Atoi(config.Metadata[keyShards]); err != nil || shards < 1 {
				return 0, &ShardsError{Stream: config.Name}
			}
		}
		if err := checkLog(config, shards, true); err != nil {
			return 0, err
		}
	}
	return shards, nil
}

// checkLogs looks at the streams of the log among what was found.
func (t *Topology) checkLogs(have map[string]existing, o ApplyOptions) error {
	for _, a := range t.assets {
		found, ok := have[a.config.Name]
		if !a.log || !ok {
			continue
		}
		if err := checkLog(found.config, t.Shards(), !o.Repair); err != nil {
			return err
		}
	}
	return nil
}

func checkLog(c jetstream.StreamConfig, shards int, safe bool) error {
	if got := c.Metadata[keyShards]; got != strconv.Itoa(shards) {
		return &ShardsError{Stream: c.Name, Server: got, Want: shards}
	}
	if unsafe := unsafeSettings(c); safe && len(unsafe) > 0 {
		return &UnsafeLogError{Stream: c.Name, Settings: unsafe}
	}
	return nil
}

// unsafeSettings are those with which a stream forgets.
func unsafeSettings(c jetstream.StreamConfig) []string {
	var unsafe []string
	note := func(bad bool, setting string) {
		if bad {
			unsafe = append(unsafe, setting)
		}
	}
	note(c.Discard != jetstream.DiscardNew, "discard "+discardText(c.Discard))
	note(c.Retention != jetstream.LimitsPolicy, "retention "+c.Retention.String())
	note(c.Storage != jetstream.FileStorage, "storage "+c.Storage.String())
	note(c.PersistMode != jetstream.DefaultPersistMode, "persist_mode "+c.PersistMode.String())
	note(c.MaxAge > 0, "max_age "+c.MaxAge.String())
	note(c.MaxMsgs > 0, "max_msgs "+strconv.FormatInt(c.MaxMsgs, 10))
	note(c.MaxMsgsPerSubject > 0, "max_msgs_per_subject "+strconv.FormatInt(c.MaxMsgsPerSubject, 10))
	note(c.AllowRollup, "rollup allowed")
	note(c.AllowMsgTTL, "ttl allowed")
	note(c.AllowMsgSchedules, "schedules allowed")
	return unsafe
}
