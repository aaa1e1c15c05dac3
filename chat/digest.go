package chat

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// answerDigest is the digest and the size of [Prompt]'s canonical form. What
// ended turns contribute is hashed once and remembered, so a long chat costs
// what its newest turns do.
func (s State) answerDigest() (events.Digest, int64) {
	settings := s.effective(s.tip())
	name := settings.Model
	v := s.scope()
	h := s.hashed.past(s, v, name)
	c := newView(name)
	v.ending(c)
	h.messages(c.messages)
	h.messages(instructed(settings))
	return h.end()
}

// hashed remembers how far the past was hashed. It is shared by the states of
// one chat; a state whose path is another one finds what both paths begin with,
// if that is marked, or nothing. Where outputs are left out, another one begins.
type hashed struct {
	mu    sync.Mutex
	marks [2]mark // the newer first; two, since a decision may not be committed
}

// mark is a hash of a prompt up to and with a turn.
type mark struct {
	settings events.Digest
	begin    *boundary // behind which it begins
	last     *turn     // nil: nothing is marked
	turns    int
	state    []byte // of the hash
	size     int64
	count    int // messages
}

// past hashes the head of the prompt of s and the messages of its past that are
// shown, for the model of that name, from the newest mark on.
func (m *hashed) past(s State, v scope, name string) prefix {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := mark{settings: s.tip().Settings, begin: v.begin, turns: len(v.turns)}
	p, done := m.resume(next, v.turns)
	if done == 0 {
		p = newPrefix(promptHead(s))
		c := newView(name)
		v.opening(c)
		p.messages(c.messages)
	}
	if done == len(v.turns) {
		return p
	}
	for _, t := range v.turns[done:] {
		p.messages(t.messages(name))
	}
	next.last, next.state, next.size, next.count = v.turns[len(v.turns)-1], p.state(), p.size, p.count
	m.marks[1] = m.marks[0]
	m.marks[0] = next
	return p
}

// resume gives what the best mark on the way to next has, and how many turns that
// are.
func (m *hashed) resume(next mark, past []*turn) (prefix, int) {
	best := mark{}
	for _, k := range m.marks {
		same := k.settings == next.settings && k.begin == next.begin
		if k.last != nil && same && k.turns <= len(past) && past[k.turns-1] == k.last && k.turns > best.turns {
			best = k
		}
	}
	if best.turns == 0 {
		return prefix{}, 0
	}
	p := prefix{hash: sha256.New(), size: best.size, count: best.count}
	if err := p.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(best.state); err != nil {
		panic(fmt.Sprintf("chat: hash does not resume: %v", err)) // it was made here
	}
	return p, best.turns
}

// prefix is a canonical request being hashed, message by message.
type prefix struct {
	hash   hash.Hash
	size   int64
	count  int
	buffer []byte // of the message written last
}

// endOfRequest closes the list of messages and the request.
const endOfRequest = "]}"

func newPrefix(head model.Request) prefix {
	head.Messages = []model.Message{}
	b := head.Canonical()
	p := prefix{hash: sha256.New()}
	p.write(b[:len(b)-len(endOfRequest)])
	return p
}

func (p *prefix) write(b []byte) {
	_, _ = p.hash.Write(b) // a hash never fails
	p.size += int64(len(b))
}

// roomForMessage is what most messages take.
const roomForMessage = 2 << 10

func (p *prefix) messages(list []model.Message) {
	if p.buffer == nil {
		p.buffer = make([]byte, 0, roomForMessage)
	}
	for _, m := range list {
		if p.count > 0 {
			p.write([]byte{','})
		}
		p.count++
		p.buffer = m.AppendCanonical(p.buffer[:0])
		p.write(p.buffer)
	}
}

func (p *prefix) state() []byte {
	b, err := p.hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(fmt.Sprintf("chat: hash does not stop: %v", err)) // SHA-256 can
	}
	return slices.Clip(b)
}

func (p *prefix) end() (events.Digest, int64) {
	p.write([]byte(endOfRequest))
	return events.Digest("sha256:" + hex.EncodeToString(p.hash.Sum(nil))), p.size
}
