package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver

	"github.com/everturn/everturn/events"
)

const (
	folderMode = 0o700
	maxPlaces  = 1_000    // of a chat: where it stood after so many of its commits
	cacheKiB   = 32 << 10 // of pages, of the connection that writes

	maxReaders         = 8 // connections that answer at a time
	maxReadersOfTenant = 6 // of these: one who asks much leaves some to others
)

var (
	// errVersion means that a file was folded by other rules than ours.
	errVersion = errors.New("the file was folded by another release")

	// errDamaged means that what we have written into a row cannot be read any more.
	errDamaged = errors.New("the file is damaged")
)

// position is up to where a stream was read.
type position struct {
	sequence uint64
	hash     string
}

// store is one SQLite file: one connection writes, others read what was committed.
type store struct {
	path   string
	write  *sql.DB
	read   *sql.DB
	shards int

	statements map[string]*sql.Stmt // that write
	chats      map[events.Key]*chat // as the file has them
	positions  atomic.Pointer[[]position]
	complete   atomic.Bool // everything that was stored once has been read
	untidy     bool        // what was erased may stand in the log beside the file
}

// openStore opens a file, and makes one that is not there. [errVersion] means that it
// is of no use.
func openStore(ctx context.Context, path string, shards int) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	s := &store{path: path, shards: shards, chats: make(map[events.Key]*chat)}
	var err error
	if s.write, err = connect(path, "_txlock=immediate", pragma("cache_size", fmt.Sprint(-cacheKiB)), pragma("secure_delete", "on")); err == nil {
		s.write.SetMaxOpenConns(1)
		err = s.prepare(ctx)
	}
	if err == nil {
		s.read, err = connect(path, pragma("query_only", "on"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the index %s: %w", path, err), s.close())
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	return s, nil
}

// pragma is a setting of a connection, as the driver takes it.
func pragma(name, value string) string {
	return "_pragma=" + url.QueryEscape(name+"("+value+")")
}

// connect gives connections to a file.
func connect(path string, settings ...string) (*sql.DB, error) {
	settings = append(settings, pragma("busy_timeout", "5000"))
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+strings.Join(settings, "&"))
}

// prepare makes the tables if there are none, and readies what writes.
func (s *store) prepare(ctx context.Context) error {
	for _, p := range []string{"PRAGMA journal_mode = wal", "PRAGMA synchronous = normal"} {
		if _, err := s.write.ExecContext(ctx, p); err != nil {
			return err
		}
	}
	var tables int
	if err := s.write.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'meta'`).Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	var made string
	err := s.write.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, metaVersion).Scan(&made)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if made != version() {
		return fmt.Errorf("%w: %q, and this one folds by %q", errVersion, made, version())
	}
	s.statements = make(map[string]*sql.Stmt)
	for _, text := range []string{
		putPosition, getChat, putChat, putPlace, forgetPlace, putSaid, putWords, forgetSaid, forgetWords, putOpen, forgetOpen, putTrouble, addSpent,
	} {
		if s.statements[text], err = s.write.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // close ends the connection
			return err
		}
	}
	if err := s.tidy(ctx); err != nil { // whoever had the file before may have been killed
		return err
	}
	return s.load(ctx)
}

// create makes the tables, all or none.
func (s *store) create(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, schema)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES (?, ?)`, metaVersion, version())
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// load reads how far the file has come.
func (s *store) load(ctx context.Context) error {
	var complete int
	if err := s.write.QueryRowContext(ctx, `SELECT count(*) FROM meta WHERE name = ?`, metaComplete).Scan(&complete); err != nil {
		return err
	}
	s.complete.Store(complete > 0)
	rows, err := s.write.QueryContext(ctx, `SELECT shard, sequence, hash FROM positions`)
	if err != nil {
		return err
	}
	defer rows.Close()
	list := make([]position, s.shards)
	for rows.Next() {
		var shard int
		var p position
		if err := rows.Scan(&shard, &p.sequence, &p.hash); err != nil {
			return err
		}
		if shard < 0 || shard >= s.shards {
			return fmt.Errorf("%w: it has read stream %d, and there are %d", errVersion, shard, s.shards)
		}
		list[shard] = p
	}
	s.positions.Store(&list)
	return rows.Err()
}

// finish notes that everything that was stored has been read.
func (s *store) finish(ctx context.Context) error {
	if s.complete.Load() {
		return nil
	}
	_, err := s.write.ExecContext(ctx, `INSERT OR REPLACE INTO meta (name, value) VALUES (?, '1')`, metaComplete)
	if err == nil {
		s.complete.Store(true)
	}
	return err
}

// known is the chat as the file has it, or one that nothing is known of.
func (s *store) known(ctx context.Context, tx *sql.Tx, k events.Key) (*chat, error) {
	if c, ok := s.chats[k]; ok {
		return c, nil
	}
	c := &chat{Tenant: k.Tenant}
	c.Chat.Chat = k.Chat
	var state []byte
	err := tx.StmtContext(ctx, s.statements[getChat]).QueryRowContext(ctx, k.Tenant, k.Chat).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return c, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(state, c); err != nil {
		return nil, fmt.Errorf("%w: chat %s: %w", errDamaged, k, err)
	}
	return c, nil
}

// close ends the connections. What is in the log of the file goes into it.
func (s *store) close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	for _, stmt := range s.statements {
		errs = append(errs, stmt.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	return errors.Join(errs...)
}
