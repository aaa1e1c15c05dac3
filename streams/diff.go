package streams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ApplyOptions say what [Topology.Diff], [Topology.Apply] and the Ensure
// methods do beyond the file.
type ApplyOptions struct {
	// AckWait of every consumer instead of the file's; 0 is the file's. All
	// processes on one server should agree: whoever comes last decides.
	AckWait time.Duration

	// Shrink lowers limits that are higher on the server than in the file. What
	// does not fit any more is lost. Without it those limits are kept: operators
	// may grow a stream that fills up, and parts still start.
	Shrink bool

	// Repair makes a log safe again that could have lost commits; see
	// [UnsafeLogError]. Run the verifier afterwards.
	Repair bool
}

// Action is what is to be done about a stream or consumer.
type Action string

// The actions.
const (
	Create   Action = "create"
	Update   Action = "update"
	Recreate Action = "recreate" // delete and create: only what follows from the log
	Keep     Action = "keep"     // a limit is larger on the server, and nobody asked to lower it
	Refuse   Action = "refuse"   // the server cannot change it, and it must not be made anew
)

// Change is one step from what a server has to what a topology says.
type Change struct {
	Action   Action
	Stream   string
	Consumer string // empty: the stream itself
	Fields   []Field
	Why      string // it is kept or refused

	stream   jetstream.StreamConfig
	consumer jetstream.ConsumerConfig
	seen     time.Time       // when the stream that is to be made anew was created
	low      *NumberingError // what is changed is how far COMMANDS has come
}

// Field is one setting that differs.
type Field struct {
	Name string
	From string // on the server; empty when it is created
	To   string
}

// String is one line for people.
func (c Change) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Action, c.Stream)
	if c.Consumer != "" {
		b.WriteString("." + c.Consumer)
	}
	separator := ": "
	for _, f := range c.Fields {
		fmt.Fprintf(&b, "%s%s %s → %s", separator, f.Name, f.From, f.To)
		separator = ", "
	}
	if c.Why != "" {
		fmt.Fprintf(&b, " (%s)", c.Why)
	}
	return b.String()
}

// Plan is all changes, in the order in which they are made. Empty means that
// the server has what the topology says.
type Plan []Change

// String is one line per change.
func (p Plan) String() string {
	return strings.Join(collect(p, Change.String), "\n")
}

// only gives the changes with one of the actions.
func (p Plan) only(actions ...Action) Plan {
	var some Plan
	for _, c := range p {
		if slices.Contains(actions, c.Action) {
			some = append(some, c)
		}
	}
	return some
}

// Diff says what Apply would do, without doing it. It fails if the server's log
// was made for another number of shards ([*ShardsError]) or could lose commits
// ([*UnsafeLogError]): then nothing at all may be applied.
func (t *Topology) Diff(ctx context.Context, js jetstream.JetStream, o ApplyOptions) (Plan, error) {
	have, err := t.inspect(ctx, js)
	if err != nil {
		return nil, err
	}
	if err := t.checkLogs(have, o); err != nil {
		return nil, err
	}
	var plan Plan
	replicas := t.replicasOn(js, have)
	for _, a := range t.assets {
		found, ok := have[a.config.Name]
		if ok {
			plan = append(plan, diffStream(a, a.on(replicas), found, o)...)
		} else {
			c := Change{Action: Create, Stream: a.config.Name, stream: a.on(replicas)}
			if c.Stream == CommandsStream && t.hasCommits(have) {
				c.stream.FirstSeq = firstNumber(time.Now())
				c.Fields = []Field{{Name: "first sequence", From: "1", To: strconv.FormatUint(c.stream.FirstSeq, 10)}}
				c.Why = "the log has commits, which name lower ones"
			}
			plan = append(plan, c)
		}
		for _, want := range a.consumers {
			if o.AckWait > 0 {
				want.AckWait = o.AckWait
			}
			plan = append(plan, diffConsumer(a.config.Name, want, found.consumers[want.Durable])...)
		}
	}
	numbering, err := t.numbering(ctx, js, have)
	return append(plan, numbering...), err
}

// existing is a stream as the server has it.
type existing struct {
	config    jetstream.StreamConfig
	created   time.Time
	last      uint64 // sequence of the newest message it ever had
	consumers map[string]*jetstream.ConsumerConfig
}

// inspect asks for every stream and consumer of the topology.
func (t *Topology) inspect(ctx context.Context, js jetstream.JetStream) (map[string]existing, error) {
	have := map[string]existing{}
	for _, a := range t.assets {
		stream, err := js.Stream(ctx, a.config.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("inspect stream %s: %w", a.config.Name, explain(err))
		}
		info := stream.CachedInfo()
		e := existing{config: info.Config, created: info.Created, last: info.State.LastSeq, consumers: map[string]*jetstream.ConsumerConfig{}}
		for _, want := range a.consumers {
			c, err := stream.Consumer(ctx, want.Durable)
			switch {
			case err == nil:
				config := c.CachedInfo().Config
				e.consumers[want.Durable] = &config
			case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
			default:
				return nil, fmt.Errorf("inspect consumer %s.%s: %w", a.config.Name, want.Durable, err)
			}
		}
		have[a.config.Name] = e
	}
	return have, nil
}

// diffStream sorts what differs into what may be changed, what is kept unless
// somebody asks, and what the server cannot change.
func diffStream(a asset, want jetstream.StreamConfig, have existing, o ApplyOptions) []Change {
	next := have.config // what an operator added beside our settings stays
	d := &streamDiff{want: want, have: have.config, next: &next, shrink: o.Shrink}
	d.run()

	if len(d.fixed) > 0 && a.derived {
		return []Change{{
			Action: Recreate, Stream: want.Name,
			Fields: append(append(d.fixed, d.changed...), d.smaller...),
			stream: want, seen: have.created,
		}}
	}
	var changes []Change
	if len(d.changed) > 0 {
		changes = append(changes, Change{Action: Update, Stream: want.Name, Fields: d.changed, stream: next})
	}
	if len(d.smaller) > 0 {
		changes = append(changes, Change{
			Action: Keep, Stream: want.Name, Fields: d.smaller, Why: "nothing is made smaller unasked",
		})
	}
	if len(d.fixed) > 0 {
		changes = append(changes, Change{
			Action: Refuse, Stream: want.Name, Fields: d.fixed,
			Why: "the server cannot change it, and what is stored there cannot be made anew",
		})
	}
	return changes
}

// diffConsumer compares one consumer; have is nil if there is none.
func diffConsumer(stream string, want jetstream.ConsumerConfig, have *jetstream.ConsumerConfig) []Change {
	if have == nil {
		return []Change{{Action: Create, Stream: stream, Consumer: want.Durable, consumer: want}}
	}
	next := *have
	next.Metadata = maps.Clone(have.Metadata)
	var fields []Field
	note := func(name, from, to string) {
		if from != to {
			fields = append(fields, Field{Name: name, From: from, To: to})
		}
	}
	note("ack_wait", have.AckWait.String(), want.AckWait.String())
	note("max_deliver", strconv.Itoa(have.MaxDeliver), strconv.Itoa(want.MaxDeliver))
	note("max_ack_pending", strconv.Itoa(have.MaxAckPending), strconv.Itoa(want.MaxAckPending))
	note("filter", filterText(*have), filterText(want))
	note("backoff", strconv.Itoa(len(have.BackOff)), strconv.Itoa(len(want.BackOff)))
	note("headers_only", strconv.FormatBool(have.HeadersOnly), strconv.FormatBool(want.HeadersOnly))
	next.AckWait, next.MaxDeliver, next.MaxAckPending = want.AckWait, want.MaxDeliver, want.MaxAckPending
	next.FilterSubject, next.FilterSubjects = want.FilterSubject, nil
	next.BackOff, next.HeadersOnly = nil, false
	fields = append(fields, mergeMetadata(&next.Metadata, want.Metadata)...)

	if have.AckPolicy != want.AckPolicy || have.DeliverSubject != "" || have.DeliverPolicy != want.DeliverPolicy {
		return []Change{{
			Action: Refuse, Stream: stream, Consumer: want.Durable,
			Why: "it is another kind of consumer, which the server cannot change: delete it first",
		}}
	}
	if len(fields) == 0 {
		return nil
	}
	return []Change{{Action: Update, Stream: stream, Consumer: want.Durable, Fields: fields, consumer: next}}
}

func filterText(c jetstream.ConsumerConfig) string {
	if c.FilterSubject != "" {
		return c.FilterSubject
	}
	return strings.Join(c.FilterSubjects, " ")
}
