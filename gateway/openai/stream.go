package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/everturn/everturn/gateway/problem"
)

// writeTime is how long a client may take to accept a piece of an answer.
const writeTime = 30 * time.Second

// streamed is an answer that is sent while it grows, as server-sent events.
type streamed struct {
	w     http.ResponseWriter
	head  completion
	begun bool
}

// stream answers with a stream. An error means that nothing was written yet: what
// fails later is told in the stream.
func (a *asking) stream(ctx context.Context, w http.ResponseWriter, t taken, head completion) error {
	head.Object = "chat.completion.chunk"
	out := streamed{w: w, head: head}
	defer out.release()
	end, err := a.follow(ctx, t, &out)
	switch {
	case err == nil:
		_ = out.end(end, a.q.Options != nil && a.q.Options.IncludeUsage) // it is the last thing said, heard or not
	case !out.begun:
		return a.broken(w, err)
	default:
		p := problemOf(err)
		if p.Code == problem.CodeInternal {
			a.cfg.Log.ErrorContext(ctx, "a chat completion broke off", "chat", t.chat, "error", err)
		}
		_ = out.send(refusalOf(p)) // the same
	}
	return nil
}

// begin writes the header, and who speaks.
func (o *streamed) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	return o.chunk(said{Role: roleAssistant, Content: new("")}, nil)
}

// send writes one event.
func (o *streamed) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return o.write("data: %s\n\n", b)
}

func (o *streamed) write(format string, args ...any) error {
	c := http.NewResponseController(o.w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTime)) // where there is none, writing waits
	if _, err := fmt.Fprintf(o.w, format, args...); err != nil {
		return err
	}
	return c.Flush()
}

// release leaves the connection to the next request as it was.
func (o *streamed) release() { _ = http.NewResponseController(o.w).SetWriteDeadline(time.Time{}) }

// chunk writes a piece of the answer.
func (o *streamed) chunk(s said, finish *string) error {
	if err := o.begin(); err != nil {
		return err
	}
	piece := o.head
	piece.Choices = []choice{{Delta: &s, Finish: finish}}
	return o.send(piece)
}

func (o *streamed) text(s string) error { return o.chunk(said{Content: &s}, nil) }

func (o *streamed) reasoning(s string) error { return o.chunk(said{Reasoning: s}, nil) }

func (o *streamed) calls(list []toolCall) error {
	for i := range list {
		list[i].Index = new(i)
	}
	return o.chunk(said{ToolCalls: list}, nil)
}

func (o *streamed) alive() error {
	if err := o.begin(); err != nil {
		return err
	}
	return o.write(": waiting\n\n")
}

// end writes why the answer ends, what it took if that is wanted, and that it is over.
func (o *streamed) end(e ending, withUsage bool) error {
	if err := o.chunk(said{}, &e.reason); err != nil {
		return err
	}
	if withUsage {
		last := o.head
		last.Usage = usageOf(e.usage)
		if err := o.send(last); err != nil {
			return err
		}
	}
	return o.write("data: [DONE]\n\n")
}
