package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// What a chat keeps of each command it has decided, once there are so many newer
// ones that the outcome is forgotten: enough to know the command again, however
// late it comes once more. See docs/adr/0012-every-command-is-known-for-ever.md.
const (
	traceBytes     = 16  // of a SHA-256: no two ids that anybody will ever see have the same
	tracesPerBlock = 256 // adding one copies a block, and the list of blocks
)

// traceOf is what is kept of the id of a command.
func traceOf(command string) []byte {
	sum := sha256.Sum256([]byte(command))
	return sum[:traceBytes]
}

// HasDecided reports whether a command of that id was decided, at whatever time.
// [State.Outcome] tells how, of the newest.
func (s State) HasDecided(command string) bool {
	if _, known := s.Outcome(command); known {
		return true
	}
	if len(s.f.Forgotten) == 0 {
		return false
	}
	trace := traceOf(command)
	return slices.ContainsFunc(s.f.Forgotten, func(block []byte) bool { return hasTrace(block, trace) })
}

func hasTrace(block, trace []byte) bool {
	begin := binary.LittleEndian.Uint64(trace)
	for at := 0; at < len(block); at += traceBytes {
		if binary.LittleEndian.Uint64(block[at:]) == begin && bytes.Equal(block[at:at+traceBytes], trace) {
			return true
		}
	}
	return false
}

// forget keeps the trace of a command whose outcome is to be remembered no longer.
func (s *State) forget(command string) {
	blocks, last := s.f.Forgotten, []byte(nil)
	if n := len(blocks); n > 0 && len(blocks[n-1]) < tracesPerBlock*traceBytes {
		blocks, last = blocks[:n-1], blocks[n-1]
	}
	s.f.Forgotten = with(blocks, slices.Concat(last, traceOf(command)))
}

// unsoundTraces reports whether blocks are none that [State.forget] made.
func unsoundTraces(blocks [][]byte) bool {
	for i, block := range blocks {
		full := len(block) == tracesPerBlock*traceBytes
		last := i == len(blocks)-1
		if !full && !last || len(block) == 0 || len(block)%traceBytes != 0 || len(block) > tracesPerBlock*traceBytes {
			return true
		}
	}
	return false
}
