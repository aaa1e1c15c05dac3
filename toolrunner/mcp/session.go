package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
)

// session is one connection to a server.
type session struct {
	*mcp.ClientSession

	secrets *secrets
	process *child        // of a server that is a program, else nil
	changed chan struct{} // has room for the word that there are other tools
	doubted chan struct{} // has room for the word that a call had no answer
	number  atomic.Int64  // of the newest call

	asking chan struct{} // has room for the questions that are asked at once

	mu      sync.Mutex
	pending map[string]toolrunner.Call // by the token of their progress
	left    map[events.Key]time.Time   // chats whose calls were given up, and when the last was
	puzzled bool                       // it was said that nobody knows for whom it asks
}

// implementation is how we introduce ourselves.
func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "everturn", Title: "Everturn", Version: "1"}
}

// connect starts a session. What it starts lives as long as life, or until end is
// called; starting bounds only the connecting.
func (s *server) connect(life, starting context.Context, pinned bool) (*session, error) {
	one := &session{
		secrets: s.secrets, changed: make(chan struct{}, 1), doubted: make(chan struct{}, 1), asking: make(chan struct{}, maxAsking),
		pending: map[string]toolrunner.Call{}, left: map[events.Key]time.Time{},
	}
	client := mcp.NewClient(implementation(), &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{}, // nothing that we do not say ourselves
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { remember(one.changed) },
		ProgressNotificationHandler: one.progress,
		ElicitationHandler:          s.elicit(one),
	})
	var (
		transport mcp.Transport
		err       error
		logs      = &journal{log: s.log, secrets: s.secrets}
	)
	if s.box == nil {
		transport, err = remote(s.Server)
	} else {
		one.process, err = launch(context.WithoutCancel(life), s.box, s.command, logs)
		transport = one.process
	}
	if err != nil {
		return nil, err
	}
	options := &mcp.ClientSessionOptions{}
	if pinned {
		options.ProtocolVersion = oldVersion
	}
	if one.ClientSession, err = client.Connect(starting, transport, options); err != nil {
		if one.process != nil {
			one.process.finish()
		}
		if words := logs.lastWords(); words != "" {
			err = fmt.Errorf("%w; it says: %s", err, words)
		}
		return nil, err
	}
	return one, nil
}

// remember leaves a word, unless there is one already.
func remember(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// endSession is how long the end of a session over HTTP is waited for.
const endSession = 6 * time.Second

// end ends the session, and the process with it. Calls that still wait fail.
func (o *session) end() {
	if o.process != nil {
		o.process.finish() // first: the session would wait for calls that never end
		_ = o.Close()
		return
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = o.Close() }() // bounded by what it waits for, which are calls with a deadline
	timer := time.NewTimer(endSession)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// giveUp has a server end that does not listen, so that it is not asked kindly first.
func (o *session) giveUp() {
	if o.process != nil {
		o.process.stop()
	}
}

// lives says whether the server answers at all. Any answer will do.
func (o *session) lives(ctx context.Context, most time.Duration) bool {
	asking, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := o.Ping(asking, nil)
	return err == nil || answered(err)
}

// progress hands on what a server says of a running call.
func (o *session) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	o.mu.Lock()
	call, running := o.pending[token]
	o.mu.Unlock()
	if !running {
		return
	}
	text := r.Params.Message
	if text == "" {
		text = strconv.FormatFloat(r.Params.Progress, 'g', -1, 64)
		if r.Params.Total > 0 {
			text += " of " + strconv.FormatFloat(r.Params.Total, 'g', -1, 64)
		}
	}
	call.Progress(o.secrets.conceal(text))
}

// begin notes that a call is on its way, and gives the token of its progress. Who calls
// done says whether it was given up: then the server may still be at it.
func (o *session) begin(c toolrunner.Call) (token string, done func(givenUp bool)) {
	token = "call-" + strconv.FormatInt(o.number.Add(1), 10)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending[token] = c
	return token, func(givenUp bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.pending, token)
		if givenUp {
			maps.DeleteFunc(o.left, func(_ events.Key, at time.Time) bool { return time.Since(at) > stillAtIt })
			o.left[c.Chat] = time.Now()
		}
	}
}

// metaKey is the field of a request's _meta that has the idempotency key of a call.
const metaKey = "everturn/idempotency-key"

// callKey finds the call in the context of what is asked on its behalf.
type callKey struct{}

// call runs a tool of the server.
//
// An error of the server is an error. If there was none because the server has ended, or
// the connection was lost, nobody knows what it has done: the error then says so. Only a
// call that was never sent is tried with the next session.
func (s *server) call(ctx context.Context, tool string, c toolrunner.Call) (toolrunner.Output, error) {
	var gone *session
	for {
		one, err := s.ready(ctx, gone)
		if err != nil {
			return toolrunner.Output{}, err
		}
		sent := &sending{}
		result, err := one.ask(context.WithValue(ctx, sendingKey{}, sent), tool, c)
		switch {
		case err == nil:
			return s.secrets.concealed(output(result)), nil
		case ctx.Err() != nil:
			if errors.Is(context.Cause(ctx), toolrunner.ErrTimeout) {
				s.doubt(one)
			}
			return toolrunner.Output{}, ctx.Err()
		case answered(err):
			return toolrunner.Output{}, errors.New(s.secrets.hide(err.Error()))
		case sent.begun.Load():
			return toolrunner.Output{}, fmt.Errorf("%w: the MCP server %q gave no answer that can be read: %s",
				toolrunner.ErrOutcomeUnknown, s.Name, s.secrets.hide(err.Error()))
		case unsent(err):
			return toolrunner.Output{}, fmt.Errorf("nothing was done: the MCP server %q cannot be reached: %s", s.Name, s.secrets.hide(err.Error()))
		default:
			gone = one
		}
	}
}

// ask sends a call and waits for its answer.
func (o *session) ask(ctx context.Context, tool string, c toolrunner.Call) (*mcp.CallToolResult, error) {
	token, done := o.begin(c)
	defer func() { done(ctx.Err() != nil) }()
	params := &mcp.CallToolParams{Name: tool, Arguments: c.Arguments, Meta: mcp.Meta{metaKey: c.Key}}
	params.SetProgressToken(token)
	return o.CallTool(context.WithValue(ctx, callKey{}, c), params)
}

// sending notes whether a server may have heard of a call. What an error says of that
// does not count: the end of a session is the same error for calls that were sent as for
// those that were not.
type sending struct{ begun atomic.Bool }

// sendingKey finds it in the context of what is sent.
type sendingKey struct{}

// begun notes that something is sent now.
func begun(ctx context.Context) {
	if s, ok := ctx.Value(sendingKey{}).(*sending); ok {
		s.begun.Store(true)
	}
}

// unsent says whether an error means that the server has heard nothing.
func unsent(err error) bool {
	broken, ok := errors.AsType[*net.OpError](err)
	return ok && broken.Op == "dial"
}

// Codes with which the library says that there was no answer.
const (
	codeClientClosing = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)

// answered says whether an error is what a server has answered.
func answered(err error) bool {
	wrong, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || errors.Is(err, mcp.ErrConnectionClosed) {
		return false
	}
	switch wrong.Code {
	case codeClientClosing, codeServerClosing, codeRejected:
		return false
	}
	return true
}
