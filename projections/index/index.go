package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
)

// Name is what the projection is called at the command line.
const Name = "index"

// Config is what an index needs.
type Config struct {
	// Dir is the folder of its files: of this process only. Required.
	Dir string

	// Log is what it is made of. Required.
	Log Log

	// Blobs has large content. Nil means that texts over 64 KiB are not found by their
	// words, and that what a fork or an import began with is not shown.
	Blobs Blobs

	// QueryTime is how long a query may take; then it was too wide. 0 means 5 s, which is
	// how long clients wait.
	QueryTime time.Duration

	// Logger gets what goes wrong. Nil says nothing.
	Logger *slog.Logger
}

const defaultQueryTime = 5 * time.Second

func (c *Config) complete() error {
	if c.Dir == "" || c.Log == nil {
		return errors.New("index: config: want Dir and Log")
	}
	if c.QueryTime < 0 {
		return fmt.Errorf("index: config: QueryTime is %v, want 0 or more", c.QueryTime)
	}
	if c.QueryTime == 0 {
		c.QueryTime = defaultQueryTime
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Times between tries and looks.
const (
	tryAgain    = time.Second      // after something went wrong, at first
	tryAgainMax = 30 * time.Second // and at last
	lookEach    = time.Second      // for a file that was built beside the one in use
)

// Index answers queries across chats from its newest file, and keeps that up to date
// while it runs. It is safe for concurrent use.
type Index struct {
	cfg    Config
	folder folder
	turns  *question.Turns

	mu      sync.RWMutex // held to read as long as the file is read
	current *store       // what answers; nil if there is none yet
}

// New makes an index that has opened nothing yet.
func New(cfg Config) (*Index, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Index{cfg: cfg, folder: folder(cfg.Dir), turns: question.NewTurns(maxReaders, maxReadersOfTenant)}, nil
}

// errNewer means that a newer file was built beside the one that is fed.
var errNewer = errors.New("a newer file is there")

// Run keeps the index until ctx ends. What goes wrong meanwhile is told to the log and
// tried again; queries are answered from what there is.
func (x *Index) Run(ctx context.Context) error {
	defer func() { x.use(nil) }()
	wait, said := tryAgain, ""
	for {
		begun := time.Now()
		err := x.keep(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		newer, lasted := errors.Is(err, errNewer), time.Since(begun)
		if newer && lasted > tryAgain { // else a disk may be spoiling one file after the other
			continue
		}
		if lasted > tryAgainMax {
			wait, said = tryAgain, ""
		}
		if text := err.Error(); !newer && text != said {
			x.cfg.Logger.ErrorContext(ctx, "the index of chats is not kept up to date; trying again", "error", err)
			said = text
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, tryAgainMax)
	}
}

// keep opens the newest file and feeds it, until something goes wrong or a newer one
// is there.
func (x *Index) keep(ctx context.Context) error {
	lock, err := x.folder.lock(lockName)
	if err != nil {
		return err
	}
	defer lock.Close() // nothing was written to it
	if err := x.folder.tidy(); err != nil {
		return err
	}
	s, generation, err := x.open(ctx)
	if err != nil {
		return err
	}
	used := false
	use := func() {
		if !used {
			x.use(s)
			used = true
		}
	}
	if s.complete.Load() {
		use() // what is there is true, if not the newest
	}
	watching, cancel := context.WithCancelCause(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { x.watch(watching, generation, cancel) })
	err = s.feed(watching, x.cfg.Log, x.cfg.Blobs, func() error {
		use()
		if err := x.folder.removeBefore(generation); err != nil {
			x.cfg.Logger.WarnContext(ctx, "the index of chats: an old file stays", "error", err)
		}
		return nil
	})
	if errors.Is(context.Cause(watching), errNewer) {
		err = errNewer
	}
	cancel(nil)
	watcher.Wait()
	if errors.Is(err, protocol.ErrReplaced) || damaged(err) {
		x.cfg.Logger.WarnContext(ctx, "the index of chats is built anew", "reason", err)
		err = x.begin(ctx, generation+1)
		if err == nil {
			err = errNewer
		}
	}
	if !used {
		err = errors.Join(err, s.close())
	}
	return err
}

// begin makes an empty file of that number.
func (x *Index) begin(ctx context.Context, generation int) error {
	s, err := openStore(ctx, x.folder.file(generation), x.cfg.Log.Shards())
	if err != nil {
		return err
	}
	return s.close()
}

// open opens the newest file, or makes one if there is none that can be used.
func (x *Index) open(ctx context.Context) (*store, int, error) {
	newest, err := x.folder.newest()
	if err != nil {
		return nil, 0, err
	}
	generation := max(newest, 1)
	s, err := openStore(ctx, x.folder.file(generation), x.cfg.Log.Shards())
	if errors.Is(err, errVersion) || damaged(err) {
		x.cfg.Logger.WarnContext(ctx, "the index of chats is built anew", "reason", err)
		generation++
		s, err = openStore(ctx, x.folder.file(generation), x.cfg.Log.Shards())
	}
	return s, generation, err
}

// watch looks for a newer file, and cancels when there is one.
func (x *Index) watch(ctx context.Context, generation int, cancel context.CancelCauseFunc) {
	for pause(ctx, lookEach) == nil {
		if newest, err := x.folder.newest(); err == nil && newest > generation {
			cancel(errNewer)
			return
		}
	}
}

// use answers from that file from now on, and closes the one before it.
func (x *Index) use(s *store) {
	x.mu.Lock()
	before := x.current
	x.current = s
	x.mu.Unlock()
	if before != nil && before != s {
		if err := before.close(); err != nil {
			x.cfg.Logger.Warn("the index of chats: a file did not close", "error", err)
		}
	}
}

// Build builds a new file beside the one in use, from the first commit on. A process
// that keeps the folder changes over to it within seconds, and deletes the old one;
// until then it answers from that. [ErrInUse] means that somebody builds already.
// Progress is called with how many messages have been read, now and then.
func Build(ctx context.Context, cfg Config, progress func(messages int)) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	d := folder(cfg.Dir)
	lock, err := d.lock(buildLock)
	if err != nil {
		return err
	}
	defer lock.Close()                               // nothing was written to it
	if err := removeFile(d.building()); err != nil { // somebody did not come to the end
		return err
	}
	s, err := openStore(ctx, d.building(), cfg.Log.Shards())
	if err != nil {
		return err
	}
	err = s.feed(ctx, counted{cfg.Log, progress}, cfg.Blobs, func() error { return errCaught })
	if errors.Is(err, errCaught) {
		err = nil
	}
	if err = errors.Join(err, s.close()); err != nil {
		return errors.Join(err, removeFile(d.building()))
	}
	return d.publish()
}

// errCaught means that a file has everything that was stored when it was begun.
var errCaught = errors.New("everything is read")

// progressEach is after how many messages progress is told.
const progressEach = 10_000

// counted is a log that tells how much of it was read.
type counted struct {
	Log

	tell func(messages int)
}

// Follow implements [Log].
func (c counted) Follow(ctx context.Context, from []uint64, commit func(int, protocol.Stored) error, ready func() error) error {
	n := 0
	return c.Log.Follow(ctx, from, func(shard int, m protocol.Stored) error {
		if n++; c.tell != nil && n%progressEach == 0 {
			c.tell(n)
		}
		return commit(shard, m)
	}, func() error {
		if c.tell != nil {
			c.tell(n)
		}
		return ready()
	})
}
