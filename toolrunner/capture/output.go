package capture

import (
	"fmt"
	"strings"
)

// Output keeps what a program writes, its middle left out if there is too much,
// so that nothing a program can do takes more of our memory than that. One
// goroutine writes to it.
type Output struct {
	mostHead int
	mostTail int
	head     []byte
	tail     []byte // up to twice what is kept of it
	dropped  int64
}

// NewOutput keeps so many bytes of the beginning, and of the end if there is more.
func NewOutput(head, tail int) *Output { return &Output{mostHead: head, mostTail: tail} }

// Write implements [io.Writer]. It takes everything.
func (o *Output) Write(b []byte) (int, error) {
	rest := b
	if room := o.mostHead - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head, rest = append(o.head, rest[:n]...), rest[n:]
	}
	o.tail = append(o.tail, rest...)
	if over := len(o.tail) - o.mostTail; over > o.mostTail {
		o.dropped += int64(over)
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	return len(b), nil
}

// End gives what is kept, and how many bytes were dropped. It is called once,
// after the last Write.
func (o *Output) End() (text string, dropped int64) {
	if over := len(o.tail) - o.mostTail; over > 0 {
		o.dropped += int64(over)
		o.tail = o.tail[over:]
	}
	if o.dropped == 0 {
		return string(o.head) + string(o.tail), 0
	}
	var b strings.Builder
	b.Write(o.head)
	if len(o.head) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[%d bytes were dropped here: of one command, no more than %d are kept]\n", o.dropped, o.mostHead+o.mostTail)
	b.Write(o.tail)
	return b.String(), o.dropped
}
