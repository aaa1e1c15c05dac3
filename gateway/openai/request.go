package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
)

// MaxRequestBytes bounds the body of a request: images come inside of it, in base64.
const MaxRequestBytes = 48 << 20

// Other limits of a request.
const (
	maxMessages = 4096
	bodyTime    = 2 * time.Minute // for its body to arrive
)

// request is the body of a chat completion, as far as it counts here. What else a
// client says is not looked at.
type request struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Stream   bool            `json:"stream"`
	Options  *streamOptions  `json:"stream_options"`
	Tools    []tool          `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
	N        *int            `json:"n"`

	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`

	// These two set requests apart that are the same otherwise.
	User string          `json:"user"`
	Seed json.RawMessage `json:"seed"`

	Metadata map[string]json.RawMessage `json:"metadata"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// tool is a function that the client runs itself.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// errBad makes the no to a request that cannot be read.
func errBad(format string, args ...any) error {
	return problem.New(problem.CodeBadRequest, fmt.Sprintf(format, args...))
}

// readRequest reads the body of a chat completion.
func readRequest(w http.ResponseWriter, r *http.Request) (request, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // where there is none, reading waits
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestBytes))
	if errors.As(err, new(*http.MaxBytesError)) {
		return request{}, problem.New(events.CodeTooLarge, fmt.Sprintf("the body has more than %d bytes", MaxRequestBytes))
	}
	if err != nil {
		return request{}, errBad("the body did not arrive")
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return q, unreadable(err)
	}
	return q, q.check()
}

// unreadable says what is wrong with a body, without repeating it.
func unreadable(err error) error {
	if p, ok := errors.AsType[problem.Problem](err); ok {
		return p
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errBad("%s: %s is not what is wanted here", wrong.Field, wrong.Value)
	}
	return errBad("the body is no JSON of a chat completion")
}

func (q *request) check() error {
	switch {
	case q.Model == "":
		return errBad("model: there is none; GET /v1/models lists them")
	case len(q.Messages) == 0:
		return errBad("messages: there are none")
	case len(q.Messages) > maxMessages:
		return errBad("messages: there are %d, at most %d are read", len(q.Messages), maxMessages)
	case q.N != nil && *q.N != 1:
		return errBad("n: want 1; send several requests with a different seed each")
	case max(q.MaxTokens, q.MaxCompletionTokens) < 0 || min(q.MaxTokens, q.MaxCompletionTokens) < 0:
		return errBad("max_tokens: want 1 or more")
	}
	for i, m := range q.Messages {
		if !slices.Contains(roles, m.Role) {
			return errBad("messages[%d].role: %.20q, want one of %s", i, m.Role, strings.Join(roles, ", "))
		}
	}
	for i, t := range q.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return errBad("tools[%d]: want a function with a name", i)
		}
	}
	return nil
}

// clientTools are the tools that the request offers, nil if it does not speak of any.
func (q *request) clientTools() *[]events.ClientTool {
	if string(q.Choice) == `"none"` {
		return &[]events.ClientTool{}
	}
	if q.Tools == nil {
		return nil
	}
	list := make([]events.ClientTool, len(q.Tools))
	for i, t := range q.Tools {
		list[i] = events.ClientTool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters}
		if s := string(t.Function.Parameters); s == "" || s == "null" {
			list[i].Schema = json.RawMessage(`{"type":"object"}`)
		}
	}
	return &list
}

// chat is the chat that the client names, empty if it names none.
func (q *request) chat(r *http.Request) (string, error) {
	named := r.Header.Get(HeaderChat)
	var inBody string
	if raw, ok := q.Metadata["chat_id"]; ok {
		if err := json.Unmarshal(raw, &inBody); err != nil {
			return "", errBad("metadata.chat_id: want a text")
		}
	}
	if named != "" && inBody != "" && named != inBody {
		return "", errBad("metadata.chat_id: the header %s names another chat", HeaderChat)
	}
	if named == "" {
		return inBody, nil
	}
	return named, nil
}
