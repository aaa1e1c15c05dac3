package streams

import (
	"context"
	"sync"
	"time"
)

// groupKnown is how long the consumer of a group is believed to be there. WORK
// may be made anew at any time, and only who stores work for a group can notice
// that nobody is served any more: a sweep that stores it again will.
const groupKnown = 10 * time.Second

// workQueues are the consumers of WORK that depend on pools and groups. Each is
// made when it is needed first, as the topology has it, and again when it is gone.
type workQueues struct {
	c        *connection
	topology *Topology
	options  ApplyOptions

	mu     sync.Mutex
	pools  map[string]*queue
	groups map[string]time.Time // when the consumer of each was seen last
}

// pool is the queue of a pool's attempts.
func (w *workQueues) pool(ctx context.Context, pool string) (*queue, error) {
	w.mu.Lock()
	q, ok := w.pools[pool]
	w.mu.Unlock()
	if ok {
		return q, nil
	}
	if _, err := w.topology.EnsureModelConsumer(ctx, w.c.js, pool, w.options); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q, ok = w.pools[pool]; !ok {
		q = newQueue(w.c, WorkStream, ModelConsumer(pool))
		q.restore = func(ctx context.Context) error {
			_, err := w.topology.EnsureModelConsumer(ctx, w.c.js, pool, w.options)
			return err
		}
		w.pools[pool] = q
	}
	return q, nil
}

// ensureGroup makes the consumer from which the runners of a group are served:
// they may not make one themselves.
func (w *workQueues) ensureGroup(ctx context.Context, group string) error {
	w.mu.Lock()
	known := time.Since(w.groups[group]) < groupKnown
	w.mu.Unlock()
	if known {
		return nil
	}
	if _, err := w.topology.EnsureToolConsumer(ctx, w.c.js, group, w.options); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups[group] = time.Now()
	return nil
}

func (w *workQueues) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.pools {
		q.close()
	}
}
