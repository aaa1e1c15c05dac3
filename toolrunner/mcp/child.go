package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Times and limits of a server that is a program.
const (
	// endWait is how long it may take to end after its input has. Then it is told to,
	// and killed two seconds later.
	endWait = 2 * time.Second

	maxMessageBytes = 16 << 20 // of one message from a server

	maxUnread = 4096 // messages to a server that does not read them; what it asks is answered, too
)

// child is a server that is a program: one process, one connection. It is an
// [mcp.Transport] and an [mcp.Connection]; nothing of it is used again after its end.
type child struct {
	lines  *lines
	input  *os.File // what it reads
	output *io.PipeReader
	room   chan struct{} // one word: whoever has it writes
	unread atomic.Int64  // messages that are written, or wait for that
	deaf   atomic.Bool   // it was ended since there were too many
	stop   context.CancelFunc
	closed sync.Once
	ended  chan struct{} // when nothing of it is left
	end    error         // why, once it has
}

// errServerEnded means that a server that is a program has ended.
var errServerEnded = errors.New("the server has ended")

// errDeaf means that a server has left too much unread.
var errDeaf = errors.New("the server asks and does not read what it is answered")

// launch starts a server. The life of the process is that of ctx, not of the connecting.
func launch(ctx context.Context, box *sandbox.Sandbox, command sandbox.Command, logs *journal) (*child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	output, into := io.Pipe()
	ctx, stop := context.WithCancel(ctx)
	c := &child{
		lines: newLines(output, maxMessageBytes, logs.noise), input: write, output: output,
		room: make(chan struct{}, 1), stop: stop, ended: make(chan struct{}),
	}
	c.room <- struct{}{}
	command.Input, command.Output, command.Errors = read, into, logs
	go func() {
		defer close(c.ended)
		result, err := box.Run(ctx, command)
		c.end = howItEnded(result, err)
		stop()
		_ = into.CloseWithError(c.end) // never fails
		_ = write.Close()              // whoever is writing has nobody to write to
	}()
	return c, nil
}

// howItEnded says so, for people.
func howItEnded(r sandbox.Result, err error) error {
	switch {
	case errors.Is(err, sandbox.ErrNotStarted):
		return fmt.Errorf("%w: %w", errServerEnded, err)
	case r.Limit != "":
		return fmt.Errorf("%w: it used %s", errServerEnded, r.Limit)
	case r.Signal != "":
		return fmt.Errorf("%w: by %s", errServerEnded, r.Signal)
	}
	return fmt.Errorf("%w: exit code %d", errServerEnded, r.Exit)
}

// Connect implements [mcp.Transport].
func (c *child) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection]; there is but one session.
func (c *child) SessionID() string { return "" }

// Read implements [mcp.Connection]. What is no message is skipped: many servers say
// something on their output at some time that was meant for people.
func (c *child) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.lines.next()
		if err != nil && c.deaf.Load() {
			return nil, errDeaf
		}
		if err != nil {
			return nil, err
		}
		message, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			return message, nil
		}
		c.lines.skip(line)
	}
}

// Write implements [mcp.Connection]. If ctx ends while the server does not read, what
// has been begun is still written as soon as it does: half a message would be the end of
// all others.
func (c *child) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	defer c.unread.Add(-1)
	if c.unread.Add(1) > maxUnread {
		c.deaf.Store(true)
		_ = c.output.CloseWithError(errDeaf) // the session ends, and what waits with it
		c.stop()
		return errDeaf
	}
	select {
	case <-c.room:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return c.end
	}
	begun(ctx)
	written := make(chan error, 1)
	go func() {
		_, err := c.input.Write(append(line, '\n'))
		c.room <- struct{}{}
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements [mcp.Connection]: it has the server end, and does not wait for that.
// What it still writes is for nobody.
func (c *child) Close() error {
	c.closed.Do(func() {
		_ = c.input.Close() // a word to the server that it is over
		_ = c.output.Close()
		go func() {
			timer := time.NewTimer(endWait)
			defer timer.Stop()
			select {
			case <-c.ended:
			case <-timer.C:
				c.stop()
			}
		}()
	})
	return nil
}

// finish ends the server and waits until nothing of it is left.
func (c *child) finish() {
	_ = c.Close()
	<-c.ended
}
