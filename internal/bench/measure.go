package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

// turnsPerChat is how many turns one chat of the sequential run has: chats as
// people have them, neither new each time nor without end.
const turnsPerChat = 10

// one is what is measured in turns: the real thing or the floor.
type one struct{ *rig }

// usage is what has been used up to a moment.
type usage struct {
	cpu    time.Duration
	synced uint64
	disk   int64
}

func (o one) usage(ctx context.Context) (usage, error) {
	var u usage
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, fmt.Errorf("bench: %w", err)
	}
	u.cpu = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	child, err := processCPU(o.tool.Process.Pid)
	if err != nil {
		return u, err
	}
	u.cpu += child
	topology, err := streams.LoadTopology("")
	if err != nil {
		return u, err
	}
	names := []string{streams.CommandsStream}
	for shard := range topology.Shards() {
		names = append(names, streams.LogStream(shard))
	}
	for _, name := range names {
		s, err := o.js.Stream(ctx, name)
		if err != nil {
			return u, fmt.Errorf("bench: %w", err)
		}
		u.synced += s.CachedInfo().State.LastSeq
	}
	u.disk, err = folderBytes(o.dir)
	return u, err
}

// residentBytes is the memory of this process and the tool's.
func (o one) residentBytes() (int64, error) {
	own, err := processResident(os.Getpid())
	if err != nil {
		return 0, err
	}
	tool, err := processResident(o.tool.Process.Pid)
	return own + tool, err
}

func folderBytes(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed while we looked
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// sequential runs one turn after the other.
func (o one) sequential(ctx context.Context, turns int) (Sequential, error) {
	var taken []time.Duration
	var before usage
	var k events.Key
	var ended chan struct{}
	var err error
	creates := 0
	for n := range turns + turnsPerChat {
		if n%turnsPerChat == 0 {
			if k, ended, err = o.chat(ctx); err != nil {
				return Sequential{}, err
			}
			creates++
		}
		if n == turnsPerChat { // the first chat was for warming up
			creates = 1
			if before, err = o.usage(ctx); err != nil {
				return Sequential{}, err
			}
		}
		start := time.Now()
		if err := o.turn(ctx, k, ended); err != nil {
			return Sequential{}, err
		}
		if n >= turnsPerChat {
			taken = append(taken, time.Since(start))
		}
	}
	after, err := o.usage(ctx)
	if err != nil {
		return Sequential{}, err
	}
	resident, err := o.residentBytes()
	if err != nil {
		return Sequential{}, err
	}
	created := 2 * uint64(creates-1) // a create is a command and a commit; the first one was before the count
	slices.Sort(taken)
	n := float64(turns)
	return Sequential{
		Turns: turns, P50: ms(percentile(taken, 0.5)), P99: ms(percentile(taken, 0.99)),
		CPU:             ms(after.cpu-before.cpu) / n,
		SyncedPublishes: float64(after.synced-before.synced-created) / n,
		DiskBytes:       float64(after.disk-before.disk) / n,
		ResidentBytes:   resident,
	}, nil
}

// concurrent runs turns of so many chats at once for a time.
func (o one) concurrent(ctx context.Context, chats int, d time.Duration) (Concurrent, error) {
	var mu sync.Mutex
	var errs []error
	turns := 0
	before, err := o.usage(ctx)
	if err != nil {
		return Concurrent{}, err
	}
	var all sync.WaitGroup
	start := time.Now()
	for range chats {
		all.Go(func() {
			n, err := o.keepTalking(ctx, start.Add(d))
			mu.Lock()
			defer mu.Unlock()
			turns += n
			errs = append(errs, err)
		})
	}
	all.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return Concurrent{}, err
	}
	after, err := o.usage(ctx)
	if err != nil {
		return Concurrent{}, err
	}
	return Concurrent{
		Chats: chats, Seconds: took.Seconds(), Turns: turns, PerSec: float64(turns) / took.Seconds(),
		CPU: ms(after.cpu-before.cpu) / float64(turns),
	}, nil
}

// keepTalking runs turns in new chats until then.
func (o one) keepTalking(ctx context.Context, until time.Time) (turns int, err error) {
	for time.Now().Before(until) {
		k, ended, err := o.chat(ctx)
		if err != nil {
			return turns, err
		}
		for range turnsPerChat {
			if !time.Now().Before(until) {
				break
			}
			if err := o.turn(ctx, k, ended); err != nil {
				return turns, err
			}
			turns++
		}
	}
	return turns, nil
}

// growth measures certain turns of some chats.
func (o one) growth(ctx context.Context, which []int, chats int) ([]Growth, error) {
	taken := map[int][]time.Duration{}
	for range chats {
		k, ended, err := o.chat(ctx)
		if err != nil {
			return nil, err
		}
		for n := 1; n <= slices.Max(which)+growthAround; n++ {
			start := time.Now()
			if err := o.turn(ctx, k, ended); err != nil {
				return nil, err
			}
			for _, w := range which {
				if n >= w && n <= w+growthAround {
					taken[w] = append(taken[w], time.Since(start))
				}
			}
		}
	}
	list := make([]Growth, 0, len(which))
	for _, w := range which {
		slices.Sort(taken[w])
		list = append(list, Growth{Turn: w, P50: ms(percentile(taken[w], 0.5))})
	}
	return list, nil
}

// growthAround is how many turns behind the named one count as it, so that a
// few chats give a steady figure.
const growthAround = 4
