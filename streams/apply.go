package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/protocol"
)

// applyRounds bounds how often Apply looks again at what it has made. One round
// makes everything, one finds nothing left; others are for applies that run at
// the same time.
const applyRounds = 8

// A cluster that has just begun knows its servers one after the other, and says
// until then that there are not enough. A server whose disk is busy says nothing
// for a while. Both pass.
const (
	placementLimit = 15 * time.Second
	placementPause = 250 * time.Millisecond
)

// Codes of the server that the client library does not name.
const (
	codeNoPeers        jetstream.ErrorCode = 10005
	codeConsumerFailed jetstream.ErrorCode = 10012
	codeMemoryExceeded jetstream.ErrorCode = 10028
	codeStoreExceeded  jetstream.ErrorCode = 10047
	codeOverlap        jetstream.ErrorCode = 10065
)

// Apply makes the server have what the topology says and gives what it changed
// and what it kept. It creates what is missing and updates what may be updated;
// it never shrinks or deletes unasked. What cannot be done is a [*RefusedError],
// after all else was done. What follows from the log is made anew where it must be: the
// orchestrators put it back. Several processes may apply at the same time.
func (t *Topology) Apply(ctx context.Context, js jetstream.JetStream, o ApplyOptions) (Plan, error) {
	var done Plan
	patience := time.Now().Add(placementLimit)
	for round := 0; round < applyRounds; {
		plan, err := t.Diff(ctx, js, o)
		if passing(ctx, err) && time.Now().Before(patience) && pause(ctx, placementPause) {
			continue
		}
		if err != nil {
			return done, fmt.Errorf("apply: %w", err)
		}
		todo := plan.only(Create, Update, Recreate)
		if len(todo) == 0 {
			done = append(done, plan.only(Keep)...)
			if refused := plan.only(Refuse); len(refused) > 0 {
				return done, fmt.Errorf("apply: %w", &RefusedError{Changes: refused})
			}
			return done, nil
		}
		made, err := t.round(ctx, js, todo)
		done = append(done, made...)
		if passing(ctx, err) && time.Now().Before(patience) && pause(ctx, placementPause) {
			continue
		}
		if err != nil {
			return done, fmt.Errorf("apply: %w", err)
		}
		round++
	}
	return done, errors.New("apply: the streams do not stay as they were made: somebody applies another topology")
}

// round makes the changes of a plan. It stops early, without an error, when
// somebody else was faster: the next round looks again.
func (t *Topology) round(ctx context.Context, js jetstream.JetStream, plan Plan) (Plan, error) {
	var made Plan
	for _, c := range plan {
		err := t.make(ctx, js, c)
		switch {
		case raced(err):
			return made, nil
		case err != nil:
			return made, fmt.Errorf("%s %s%s: %w", c.Action, c.Stream, dotted(c.Consumer), explain(err))
		}
		made = append(made, c)
	}
	return made, nil
}

func (t *Topology) make(ctx context.Context, js jetstream.JetStream, c Change) (err error) {
	switch {
	case c.low != nil:
		err = skipNumbers(ctx, js, c.low)
	case c.Action == Create && c.Consumer != "":
		_, err = js.CreateConsumer(ctx, c.Stream, c.consumer)
	case c.Action == Create:
		_, err = js.CreateStream(ctx, c.stream)
		if codeOf(err) == codeNoReplicas && t.replicas == 0 && js.Options().Domain != "" {
			_, err = js.CreateStream(ctx, t.asset(c.Stream).on(1)) // a single server, behind a leaf node
		}
	case c.Action == Update && c.Consumer != "":
		_, err = js.UpdateConsumer(ctx, c.Stream, c.consumer)
	case c.Action == Update:
		_, err = js.UpdateStream(ctx, c.stream)
	case c.Action == Recreate:
		err = t.recreate(ctx, js, c)
	}
	return err
}

// recreate deletes the stream that was looked at, not one that somebody made in
// the meantime, and gives the new one the consumers of the old.
func (t *Topology) recreate(ctx context.Context, js jetstream.JetStream, c Change) error {
	if !t.asset(c.Stream).derived {
		panic("streams: " + c.Stream + " must not be made anew") // would lose what nothing else knows
	}
	old, err := js.Stream(ctx, c.Stream)
	if err != nil {
		return err
	}
	if !old.CachedInfo().Created.Equal(c.seen) {
		return nil // made anew already; the next round compares it
	}
	var consumers []jetstream.ConsumerConfig
	list := old.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.Durable != "" {
			consumers = append(consumers, info.Config)
		}
	}
	if err := list.Err(); err != nil {
		return err
	}
	if err := js.DeleteStream(ctx, c.Stream); err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, c.stream); err != nil {
		return err
	}
	for _, config := range consumers {
		if _, err := js.CreateOrUpdateConsumer(ctx, c.Stream, config); err != nil {
			return fmt.Errorf("consumer %s: %w", config.Durable, err)
		}
	}
	return nil
}

// raced reports whether an error means that another process changed the same
// thing since it was looked at.
func raced(err error) bool {
	for _, e := range []error{
		jetstream.ErrStreamNameAlreadyInUse, jetstream.ErrStreamNotFound,
		jetstream.ErrConsumerExists, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// passing reports whether an error may be gone soon by itself: there are not
// enough servers yet, none has answered in time, or a consumer's folder went
// away while it was being made, with the stream that was there before.
func passing(ctx context.Context, err error) bool {
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoAnswer) ||
		errors.Is(err, errReconnected) || errors.Is(err, errNobody)
	return silent && ctx.Err() == nil || codeOf(err) == codeNoPeers || codeOf(err) == codeConsumerFailed
}

// pause reports whether it was not cut short.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// explain adds what a person can do about a server's refusal.
func explain(err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: nobody answers about streams: the cluster has no leader yet, or we may not ask", err)
		}
		return err
	}
	var hint string
	switch api.ErrorCode {
	case codeStoreExceeded:
		hint = "the server has not that much disk to promise: free some, raise its max_file_store, or lower max_bytes"
	case codeMemoryExceeded:
		hint = "the server has not that much memory to promise: raise its max_memory_store, or lower max_bytes"
	case codeNoPeers:
		hint = "the cluster has not enough servers with room: set replicas or max_bytes lower, or add servers"
	case codeOverlap:
		hint = "a stream that is not ours has these subjects: remove it, `nats stream find` shows which"
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		hint = "start the server with JetStream, and enable it for the account"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, hint)
}

func dotted(name string) string {
	if name == "" {
		return ""
	}
	return "." + name
}

// EnsureModelConsumer gives the consumer that the workers of a pool share, and
// makes it if it is not there.
func (t *Topology) EnsureModelConsumer(ctx context.Context, js jetstream.JetStream, pool string, o ApplyOptions) (jetstream.Consumer, error) {
	return ensureWork(ctx, js, pool, t.ModelConsumerConfig(pool), o)
}

// EnsureToolConsumer gives the consumer that the runners of a group share, and
// makes it if it is not there. Runners lack the permission to make it:
// orchestrators do, when a group offers its tools.
func (t *Topology) EnsureToolConsumer(ctx context.Context, js jetstream.JetStream, group string, o ApplyOptions) (jetstream.Consumer, error) {
	return ensureWork(ctx, js, group, t.ToolConsumerConfig(group), o)
}

// ensureWork may run in many processes at once. Pools are named as groups are.
func ensureWork(ctx context.Context, js jetstream.JetStream, name string, want jetstream.ConsumerConfig, o ApplyOptions) (jetstream.Consumer, error) {
	if err := protocol.ValidateGroup(name); err != nil {
		return nil, fmt.Errorf("consumer of %s: %w", WorkStream, err)
	}
	if o.AckWait > 0 {
		want.AckWait = o.AckWait
	}
	have, err := js.Consumer(ctx, WorkStream, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		have, err = js.CreateOrUpdateConsumer(ctx, WorkStream, want)
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s.%s: %w", WorkStream, want.Durable, explain(err))
	}
	config := have.CachedInfo().Config
	for _, c := range diffConsumer(WorkStream, want, &config) {
		if c.Action == Refuse {
			return nil, &RefusedError{Changes: Plan{c}}
		}
		if have, err = js.CreateOrUpdateConsumer(ctx, WorkStream, c.consumer); err != nil {
			return nil, fmt.Errorf("consumer %s.%s: %w", WorkStream, want.Durable, explain(err))
		}
	}
	return have, nil
}
