package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
)

// completion is an answer, or in a stream a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"` // in s
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int     `json:"index"`
	Message *said   `json:"message,omitempty"`
	Delta   *said   `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
}

// said is what the assistant says.
type said struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// usage is what an answer took.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`

	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// usageOf counts as this API does: what was read from a cache is among the prompt.
func usageOf(u events.Usage) *usage {
	u = u.Bounded()
	shown := usage{Prompt: u.Input + u.CacheRead + u.CacheWrite, Completion: u.Output, Total: u.Total()}
	shown.PromptDetails.Cached, shown.CompletionDetails.Reasoning = u.CacheRead, u.Reasoning
	return &shown
}

// answer answers a request whose input was taken. An error means that nothing was
// written yet.
func (a *asking) answer(ctx context.Context, w http.ResponseWriter, t taken) error {
	head := completion{ID: "chatcmpl-" + t.reply.ID, Created: a.cfg.Clock().Unix(), Model: a.q.Model, Choices: []choice{}}
	w.Header().Set(HeaderChat, t.chat)
	w.Header().Set("Cache-Control", "no-store")
	if a.q.Stream {
		return a.stream(ctx, w, t, head)
	}
	var out whole
	end, err := a.follow(ctx, t, &out)
	if err != nil {
		return a.broken(w, err)
	}
	head.Object = "chat.completion"
	head.Choices = []choice{{Message: out.said(), Finish: &end.reason}}
	head.Usage = usageOf(end.usage)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(head) // who has gone away needs no answer
	return nil
}

// broken is err. A client is told when it helps nothing to send the same again by
// itself: a turn has failed after all tries that are sensible.
func (a *asking) broken(w http.ResponseWriter, err error) error {
	if errors.As(err, new(problem.Problem)) {
		w.Header().Set("X-Should-Retry", "false")
	}
	return err
}

// whole is an answer that is sent in one piece.
type whole struct {
	content   strings.Builder
	reasoned  strings.Builder
	toolCalls []toolCall
}

func (o *whole) text(s string) error {
	o.content.WriteString(s)
	return nil
}

func (o *whole) reasoning(s string) error {
	o.reasoned.WriteString(s)
	return nil
}

func (o *whole) calls(list []toolCall) error {
	o.toolCalls = list
	return nil
}

func (o *whole) alive() error { return nil }

func (o *whole) said() *said {
	s := said{Role: roleAssistant, Reasoning: o.reasoned.String(), ToolCalls: o.toolCalls}
	s.Content = new(o.content.String())
	return &s
}
