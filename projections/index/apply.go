package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/everturn/everturn/events"
)

// maxKept is how many chats are kept in memory between two transactions.
const maxKept = 10_000

// apply folds messages into the file, in one transaction with how far each stream was
// read. After an error nothing of them is in the file.
//
// A message that the file cannot take is set aside, and the others go in.
func (s *store) apply(ctx context.Context, items []item) error {
	err := s.transaction(ctx, items)
	if err == nil || !unfit(err) {
		return err
	}
	for _, i := range items { // one of them does not fit: find out which
		one := []item{i}
		err := s.transaction(ctx, one)
		if err != nil && unfit(err) {
			i.commit, i.history = events.Commit{}, nil
			i.setAside(fmt.Sprintf("it cannot be kept: %v", err))
			err = s.transaction(ctx, []item{i})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfit reports whether an error may be the fault of what is stored, and not of the
// place where.
func unfit(err error) bool {
	switch {
	case errors.Is(err, errPanic):
		return true
	case errors.Is(err, errDamaged):
		return false
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return true
	}
	switch e.Code() & 0xff { // the rest says more about it
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

// damaged reports whether an error says that a file cannot be read any more.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// transaction folds messages and keeps what follows, all or nothing.
func (s *store) transaction(ctx context.Context, items []item) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	w := writer{store: s, tx: tx}
	erased, err := w.all(ctx, items)
	if err != nil {
		s.chats = make(map[events.Key]*chat) // what was folded is not in the file
		return errors.Join(fmt.Errorf("index: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		s.chats = make(map[events.Key]*chat)
		return fmt.Errorf("index: %w", err)
	}
	s.advance(items)
	if s.untidy = s.untidy || erased; s.untidy {
		return s.tidy(ctx)
	}
	return nil
}

// tidy empties the log that SQLite keeps beside the file: what was erased stands in it,
// too. As long as somebody reads what is older it cannot, and is to be called again.
func (s *store) tidy(ctx context.Context) error {
	var busy, pages, moved int
	if err := s.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	s.untidy = busy != 0
	return nil
}

// advance notes how far the streams were read.
func (s *store) advance(items []item) {
	list := slices.Clone(*s.positions.Load())
	for _, i := range items {
		list[i.Shard] = position{i.Sequence, i.hash}
	}
	s.positions.Store(&list)
}

// writer writes in one transaction.
type writer struct {
	*store

	tx *sql.Tx
}

func (w writer) exec(ctx context.Context, statement string, args ...any) error {
	_, err := w.counted(ctx, statement, args...)
	return err
}

// counted is exec, and how many rows were changed by it.
func (w writer) counted(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := w.tx.StmtContext(ctx, w.statements[statement]).ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// all folds messages, each chat in the order of its own, and writes what follows once.
func (w writer) all(ctx context.Context, items []item) (erased bool, err error) {
	folds := make(map[events.Key]*fold)
	var order []*fold
	last := make(map[int]item)
	for _, i := range items {
		last[i.Shard] = i
		if i.key == (events.Key{}) {
			continue
		}
		f, ok := folds[i.key]
		if !ok {
			c, err := w.known(ctx, w.tx, i.key)
			if err != nil {
				return false, err
			}
			f = &fold{chat: c}
			folds[i.key], order = f, append(order, f)
		}
		if err := f.safely(i); err != nil {
			return false, err
		}
	}
	if len(w.chats)+len(folds) > maxKept {
		clear(w.chats)
	}
	for _, f := range order {
		if err := w.put(ctx, f); err != nil {
			return false, err
		}
		erased = erased || f.fresh
		w.chats[f.chat.key()] = f.chat
	}
	for shard, i := range last {
		if err := w.exec(ctx, putPosition, shard, int64(i.Sequence), i.hash); err != nil {
			return false, err
		}
	}
	return erased, nil
}

func (c *chat) key() events.Key { return events.Key{Tenant: c.Tenant, Chat: c.Chat.Chat} }

// errPanic means that folding a message panicked.
var errPanic = errors.New("folding it panicked")

// safely applies a message. A panic is an error: one message that nobody thought of
// must not end the reading of all others.
func (f *fold) safely(i item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	f.apply(i)
	return nil
}

// put writes what follows from the commits of a chat.
func (w writer) put(ctx context.Context, f *fold) error {
	c := f.chat
	if f.fresh {
		for _, statement := range forgetChat {
			if _, err := w.tx.ExecContext(ctx, statement, c.Tenant, c.Chat.Chat); err != nil {
				return err
			}
		}
	}
	if err := w.words(ctx, f); err != nil {
		return err
	}
	for as, spent := range f.spent {
		u := spent.Usage
		if err := w.exec(ctx, addSpent, c.Tenant, c.Chat.Chat, as.day, as.model, as.agent, spent.Attempts,
			u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, spent.CostMicros, spent.Unpriced, int64(events.MaxSum)); err != nil {
			return err
		}
	}
	for _, m := range f.moved {
		if err := w.exec(ctx, putPlace, c.Tenant, c.Chat.Chat, int64(m.rev), int64(m.sequence), int64(m.at)); err != nil {
			return err
		}
		if m.rev > maxPlaces {
			if err := w.exec(ctx, forgetPlace, c.Tenant, c.Chat.Chat, int64(m.rev-maxPlaces)); err != nil {
				return err
			}
		}
	}
	numbers := make(map[place]int)
	for _, t := range f.trouble {
		numbers[t.place]++
		if err := w.exec(ctx, putTrouble, t.Shard, int64(t.Sequence), numbers[t.place], t.key.Tenant, t.key.Chat, int64(t.rev), t.why); err != nil {
			return err
		}
	}
	if err := w.open(ctx, f); err != nil {
		return err
	}
	return w.row(ctx, c)
}

// words writes what was said, and forgets what was taken back.
func (w writer) words(ctx context.Context, f *fold) error {
	c := f.chat
	for _, id := range f.unsaid {
		n, err := w.counted(ctx, forgetSaid, id, c.Tenant, c.Chat.Chat)
		if err == nil && n > 0 {
			err = w.exec(ctx, forgetWords, id)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range f.said {
		n, err := w.counted(ctx, putSaid, s.id, c.Tenant, c.Chat.Chat, int64(s.rev), int64(s.at), s.turn, string(s.kind), s.by, s.inherited)
		if err != nil {
			return err
		}
		if n == 0 { // hundreds of thousands of messages in one second
			f.trouble = append(f.trouble, trouble{s.place, c.key(), s.rev, "not to be found by its words: another message has its number"})
			continue
		}
		if err := w.exec(ctx, putWords, s.id, scope(c.Tenant)+" "+scopeOf(c.key()), s.text); err != nil {
			return err
		}
	}
	return nil
}

// open writes what waits in a chat.
func (w writer) open(ctx context.Context, f *fold) error {
	c := f.chat
	if err := w.exec(ctx, forgetOpen, c.Tenant, c.Chat.Chat); err != nil {
		return err
	}
	for _, o := range c.Open {
		item, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if err := w.exec(ctx, putOpen, c.Tenant, c.Chat.Chat, string(o.Kind), o.callText(), int64(o.Since), string(item)); err != nil {
			return err
		}
	}
	return nil
}

// callText tells calls of one kind apart; there may be none.
func (o open) callText() string {
	if o.Call == nil {
		return ""
	}
	return o.Call.String()
}

// row writes the line of a chat.
func (w writer) row(ctx context.Context, c *chat) error {
	if c.Rev == 0 {
		return nil // nothing of it can be read
	}
	state, err := json.Marshal(c)
	if err != nil {
		return err
	}
	parent := ""
	if c.Parent != nil {
		parent = c.Parent.Chat
	}
	return w.exec(ctx, putChat, c.Tenant, c.Chat.Chat, c.Shard, int64(c.Sequence), int64(c.At), c.Owner, string(c.Status),
		c.Agent, c.Archived, parent, c.Title, c.Gone, string(state))
}
