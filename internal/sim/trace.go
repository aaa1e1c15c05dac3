package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"time"
)

// trace is what happened in a run, in order. Its hash is always taken; its
// lines are kept only to be read.
type trace struct {
	sum   hash.Hash
	keep  bool
	lines []string
	began time.Time
}

func newTrace(keep bool) *trace { return &trace{sum: sha256.New(), keep: keep, began: time.Now()} }

// add notes what happened now.
func (t *trace) add(what ...string) {
	now := time.Since(t.began)
	_, _ = fmt.Fprint(t.sum, int64(now)) // a hash never fails
	for _, w := range what {
		_, _ = t.sum.Write([]byte(w))
	}
	_, _ = t.sum.Write([]byte{'\n'})
	if !t.keep {
		return
	}
	t.lines = append(t.lines, fmt.Sprintf("%10.3fs %s", now.Seconds(), strings.Join(what, " ")))
}

func (t *trace) hash() string { return hex.EncodeToString(t.sum.Sum(nil)) }
