package index

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// schema is every table. What is told of a chat or of something that waits stands as
// JSON beside the columns that it is found by.
const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Up to which message each stream was read, and the hash of that message.
CREATE TABLE positions (shard INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, hash TEXT NOT NULL);

CREATE TABLE chats (
	tenant TEXT NOT NULL, chat TEXT NOT NULL,
	shard INTEGER NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, -- of the newest commit
	owner TEXT NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL, archived INTEGER NOT NULL, parent TEXT NOT NULL,
	title TEXT NOT NULL, gone INTEGER NOT NULL, state TEXT NOT NULL,
	PRIMARY KEY (tenant, chat)
) WITHOUT ROWID;
CREATE INDEX chats_at ON chats (tenant, at DESC, shard DESC, sequence DESC);
CREATE INDEX chats_owner ON chats (tenant, owner, at DESC, shard DESC, sequence DESC);
CREATE INDEX chats_parent ON chats (tenant, parent);
CREATE INDEX chats_sequence ON chats (tenant, shard, sequence);

-- Where each chat once stood in the list, for lists whose first page is older.
CREATE TABLE places (
	tenant TEXT NOT NULL, chat TEXT NOT NULL, rev INTEGER NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL,
	PRIMARY KEY (tenant, chat, rev)
) WITHOUT ROWID;

CREATE TABLE said (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, chat TEXT NOT NULL, rev INTEGER NOT NULL, at INTEGER NOT NULL,
	turn INTEGER NOT NULL, kind TEXT NOT NULL, by TEXT NOT NULL, inherited INTEGER NOT NULL
);
CREATE INDEX said_chat ON said (tenant, chat);

-- The words of what was said, by the same id. Scope has a word for the tenant and one
-- for the chat, so that nobody's words are looked through for another.
CREATE VIRTUAL TABLE words USING fts5 (scope, text, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

CREATE TABLE spent (
	tenant TEXT NOT NULL, chat TEXT NOT NULL, day TEXT NOT NULL, model TEXT NOT NULL, agent TEXT NOT NULL,
	attempts INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
	cache_write INTEGER NOT NULL, reasoning INTEGER NOT NULL, cost_micros INTEGER NOT NULL, unpriced INTEGER NOT NULL,
	PRIMARY KEY (tenant, chat, day, model, agent)
) WITHOUT ROWID;
CREATE INDEX spent_day ON spent (tenant, day);

CREATE TABLE open (
	tenant TEXT NOT NULL, chat TEXT NOT NULL, kind TEXT NOT NULL, call TEXT NOT NULL,
	since INTEGER NOT NULL, item TEXT NOT NULL,
	PRIMARY KEY (tenant, chat, kind, call)
) WITHOUT ROWID;
CREATE INDEX open_since ON open (tenant, since, chat, kind, call);

-- What could not be read, and why.
CREATE TABLE quarantine (
	shard INTEGER NOT NULL, sequence INTEGER NOT NULL, number INTEGER NOT NULL,
	tenant TEXT NOT NULL, chat TEXT NOT NULL, rev INTEGER NOT NULL, why TEXT NOT NULL,
	PRIMARY KEY (shard, sequence, number)
) WITHOUT ROWID;
CREATE INDEX quarantine_chat ON quarantine (tenant, chat);
`

// Names in meta.
const (
	metaVersion  = "version"  // of what the rows were folded by
	metaComplete = "complete" // once everything that was stored had been read
)

// version is what rows are folded by: our rules, and the events that this release can
// read. A release that reads more builds a file of its own, since what it can read may
// have been set aside.
func version() string {
	names := make([]string, 0, len(events.TypeNames()))
	for _, name := range events.TypeNames() {
		names = append(names, string(name))
	}
	return fmt.Sprintf("%d-%s", foldVersion, events.Hash([]byte(strings.Join(names, "\n")))[:16])
}

// Statements that write.
const (
	putPosition = `INSERT INTO positions (shard, sequence, hash) VALUES (?, ?, ?)
		ON CONFLICT (shard) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash`
	getChat = `SELECT state FROM chats WHERE tenant = ? AND chat = ?`
	putChat = `INSERT INTO chats (tenant, chat, shard, sequence, at, owner, status, agent, archived, parent, title, gone, state)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, chat) DO UPDATE SET shard = excluded.shard, sequence = excluded.sequence, at = excluded.at,
			owner = excluded.owner, status = excluded.status, agent = excluded.agent, archived = excluded.archived,
			parent = excluded.parent, title = excluded.title, gone = excluded.gone, state = excluded.state`
	putPlace    = `INSERT OR REPLACE INTO places (tenant, chat, rev, sequence, at) VALUES (?, ?, ?, ?, ?)`
	forgetPlace = `DELETE FROM places WHERE tenant = ? AND chat = ? AND rev = ?`
	putSaid     = `INSERT OR IGNORE INTO said (id, tenant, chat, rev, at, turn, kind, by, inherited) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	putWords    = `INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)`
	forgetSaid  = `DELETE FROM said WHERE id = ? AND tenant = ? AND chat = ?`
	forgetWords = `DELETE FROM words WHERE rowid = ?`
	putOpen     = `INSERT OR REPLACE INTO open (tenant, chat, kind, call, since, item) VALUES (?, ?, ?, ?, ?, ?)`
	forgetOpen  = `DELETE FROM open WHERE tenant = ? AND chat = ?`
	putTrouble  = `INSERT OR REPLACE INTO quarantine (shard, sequence, number, tenant, chat, rev, why) VALUES (?, ?, ?, ?, ?, ?, ?)`
	addSpent    = `INSERT INTO spent (tenant, chat, day, model, agent, attempts, input, output, cache_read, cache_write, reasoning, cost_micros, unpriced)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (tenant, chat, day, model, agent) DO UPDATE SET
			attempts = min(attempts + ?6, ?14), input = min(input + ?7, ?14), output = min(output + ?8, ?14),
			cache_read = min(cache_read + ?9, ?14), cache_write = min(cache_write + ?10, ?14), reasoning = min(reasoning + ?11, ?14),
			cost_micros = min(cost_micros + ?12, ?14), unpriced = min(unpriced + ?13, ?14)`
)

// forgetChat is everything that is kept of a chat besides its own row.
var forgetChat = []string{
	`DELETE FROM words WHERE rowid IN (SELECT id FROM said WHERE tenant = ? AND chat = ?)`,
	`DELETE FROM said WHERE tenant = ? AND chat = ?`,
	`DELETE FROM places WHERE tenant = ? AND chat = ?`,
	`DELETE FROM spent WHERE tenant = ? AND chat = ?`,
	`DELETE FROM open WHERE tenant = ? AND chat = ?`,
	`DELETE FROM quarantine WHERE tenant = ? AND chat = ?`,
}
