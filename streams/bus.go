package streams

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Options of a bus. The zero value is right for production.
type Options struct {
	// Topology tells how consumers of pools and groups are made; nil is the one
	// in the binary.
	Topology *Topology

	// AckWait of consumers that are made on demand, instead of the topology's.
	AckWait time.Duration

	// Domain is the JetStream domain to use; empty is that of the server one is
	// connected to.
	Domain string

	// Try bounds one exchange with the server or another part of Everturn;
	// 0 is DefaultTry. Callers ask again, so it may be short.
	Try time.Duration
}

// DefaultTry is long for a server that lives, and short compared with the
// election of a new leader, after which a new try finds it.
const DefaultTry = 2 * time.Second

func (o Options) try() time.Duration {
	if o.Try > 0 {
		return o.Try
	}
	return DefaultTry
}

// Bus is everything that NATS does for an orchestrator, job by job. The jobs
// are safe for concurrent use.
type Bus struct {
	Log       *Log
	Commands  *Commands
	Work      *Work
	Timers    *Timers
	Requests  *Requests
	Signals   *Signals
	Feed      *Feed
	Blobs     *Blobs
	Tools     *Tools
	Agents    *Agents
	Skills    *Skills
	Snapshots *Snapshots
	Dead      *Dead

	c      *connection
	queues *workQueues
}

// Open checks that the server has the streams and gives the jobs. The
// connection stays the caller's to close, after [Bus.Close].
func Open(ctx context.Context, nc *nats.Conn, o Options) (*Bus, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	shards, err := c.check(ctx)
	for patience := time.Now().Add(placementLimit); passing(ctx, err) && time.Now().Before(patience) && pause(ctx, placementPause); {
		shards, err = c.check(ctx)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	topology := o.Topology
	if topology == nil {
		if topology, err = LoadTopology(""); err != nil {
			c.close()
			return nil, err
		}
	}
	c.findSole(ctx)
	queues := &workQueues{
		c: c, topology: topology, options: ApplyOptions{AckWait: o.AckWait},
		pools: map[string]*queue{}, groups: map[string]time.Time{},
	}
	blobs := &Blobs{c: c}
	return &Bus{
		Log:       &Log{c: c, shards: shards},
		Commands:  &Commands{c: c, queue: newQueue(c, CommandsStream, CommandsConsumer)},
		Work:      &Work{c: c, queues: queues, words: newQueue(c, WorkStream, ChatConsumer)},
		Timers:    &Timers{c: c, queue: newQueue(c, TimersStream, DueConsumer)},
		Requests:  &Requests{c: c},
		Signals:   &Signals{c: c},
		Feed:      &Feed{c: c},
		Blobs:     blobs,
		Tools:     &Tools{c: c, blobs: blobs, queues: queues},
		Agents:    &Agents{c: c},
		Skills:    &Skills{c: c},
		Snapshots: &Snapshots{c: c},
		Dead:      &Dead{c: c},
		c:         c,
		queues:    queues,
	}, nil
}

// check looks whether everything is there and gives the number of shards.
func (c *connection) check(ctx context.Context) (int, error) {
	shards, err := CheckLog(ctx, c.js)
	if err != nil {
		return 0, err
	}
	for _, name := range []string{
		CommandsStream, WorkStream, TimersStream, FeedStream, DeadStream, snapshotsStream, toolsStream, blobsStream,
	} {
		if _, err := c.js.Stream(ctx, name); err != nil {
			return 0, translate(err, "check stream %s", name)
		}
	}
	for stream, consumer := range map[string]string{CommandsStream: CommandsConsumer, TimersStream: DueConsumer, WorkStream: ChatConsumer} {
		if _, err := c.js.Consumer(ctx, stream, consumer); err != nil {
			return 0, translate(err, "check consumer %s of %s", consumer, stream)
		}
	}
	return shards, c.checkNumbering(ctx, shards)
}

// Close ends what the bus holds. Its methods must have returned.
func (b *Bus) Close() {
	b.Commands.queue.close()
	b.Timers.queue.close()
	b.Work.words.close()
	b.queues.close()
	b.c.close()
}

// Dropped is how many requests were not answered because their reply subject
// was no inbox. It rises when somebody tries to write through us.
func (b *Bus) Dropped() uint64 { return b.c.dropped.Load() }
