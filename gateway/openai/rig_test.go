package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

// rig is a server with all parts, and a gateway before it.
type rig struct {
	*testing.T

	server *embedded.Server
	nc     *nats.Conn
	url    string
	client *client.Client
}

// start runs everything, with a model that answers from the script.
func start(t *testing.T, rules string) *rig {
	t.Helper()
	answers, err := script.Parse(t.Name(), []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	server := embeddedtest.Start(t, embedded.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	run := func(part func(nc *nats.Conn) error) {
		nc := connect(t, server)
		running.Go(func() {
			if err := part(nc); err != nil {
				t.Error(err)
			}
		})
	}
	ready, offered := make(chan struct{}), make(chan struct{})
	run(func(nc *nats.Conn) error {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		models := func(string) (model.Model, bool) { return answers, true }
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, models, func() { close(ready) })
	})
	<-ready
	run(func(nc *nats.Conn) error {
		cfg := toolrunner.Config{Offered: sync.OnceFunc(func() { close(offered) })}
		return parts.RunTools(ctx, nc, cfg, []toolrunner.Tool{tools.CurrentTime(time.Now), mail{}})
	})
	run(func(nc *nats.Conn) error {
		return parts.RunProjections(ctx, nc, "0.0.0", slog.New(slog.DiscardHandler))
	})
	<-offered
	nc := connect(t, server)
	r := &rig{T: t, server: server, nc: nc, client: client.New(nc, "", "")}
	for _, query := range []string{transcript.QueryHead, transcript.QueryPage, transcript.QueryCommand} { // each begins to be answered by itself
		for errors.Is(r.client.Query(t.Context(), query, struct{}{}, nil), client.ErrNoService) {
			if t.Context().Err() != nil {
				t.Fatal("nobody answers queries")
			}
		}
	}
	r.url, _ = r.gateway()
	return r
}

// gateway starts one more gateway, and gives its address and what stops it.
func (r *rig) gateway() (url string, stop func()) {
	r.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	nc := connect(r.T, r.server)
	ctx, cancel := context.WithCancel(r.Context())
	var running sync.WaitGroup
	running.Go(func() {
		err := readside.RunGateway(ctx, nc, readside.GatewayConfig{
			Config: gateway.Config{Listener: listener, Local: identity.Identity{Tenant: "default", By: "user:ann"}},
		})
		if err != nil {
			r.Error(err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	r.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

func connect(t *testing.T, s *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// mail is a tool that needs somebody's approval.
type mail struct{}

func (mail) Manifest() protocol.Manifest {
	return protocol.Manifest{Name: "send_mail", Description: "Sends a mail.", Schema: json.RawMessage(`{"type":"object"}`), Policy: events.PolicyAsk}
}

func (mail) Run(context.Context, toolrunner.Call) (toolrunner.Output, error) {
	return toolrunner.Output{Text: "it is on its way"}, nil
}

// agent keeps an agent.
func (r *rig) agent(name string, s events.Settings) {
	r.Helper()
	bus, err := streams.OpenReader(r.Context(), r.nc, streams.Options{})
	if err != nil {
		r.Fatal(err)
	}
	defer bus.Close()
	if err := bus.Agents.Put(r.Context(), "default", name, s); err != nil {
		r.Fatal(err)
	}
}

// fields is a JSON object.
type fields = map[string]any

// user is a message of one.
func user(text string) fields { return fields{"role": "user", "content": text} }

// assistant is an answer as a client sends it back.
func assistant(text string) fields { return fields{"role": "assistant", "content": text} }

// post sends a request, and gives its answer.
func (r *rig) post(ctx context.Context, body fields, header ...string) *http.Response {
	r.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", bytes.NewReader(b))
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	return answer
}

// answer is one that came in one piece.
type answer struct {
	Status  int
	Chat    string
	ID      string
	Object  string
	Model   string
	Choices []struct {
		Message struct {
			Role             string
			Content          string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []call `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
	}
	Error *struct{ Message, Type, Code, Param string }
}

type call struct {
	Index    *int
	ID       string
	Type     string
	Function struct{ Name, Arguments string }
}

func (a answer) text() string {
	if len(a.Choices) == 0 {
		return ""
	}
	return a.Choices[0].Message.Content
}

// ask sends a request and reads the whole answer.
func (r *rig) ask(body fields, header ...string) answer {
	r.Helper()
	response := r.post(r.Context(), body, header...)
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	a := answer{Status: response.StatusCode, Chat: response.Header.Get("Everturn-Chat")}
	if err := json.Unmarshal(b, &a); err != nil {
		r.Fatalf("answer %s: %v", b, err)
	}
	return a
}

// completion is a request with messages.
func completion(messages ...fields) fields { return fields{"model": "default", "messages": messages} }

// with is body with another field.
func with(body fields, name string, value any) fields {
	all := fields{name: value}
	for k, v := range body {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// chunk is a piece of an answer.
type chunk struct {
	Object  string
	Choices []struct {
		Delta struct {
			Role             string
			Content          *string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []call `json:"tool_calls"`
		}
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Total int64 `json:"total_tokens"`
	}
	Error *struct{ Message, Type, Code string }
}

// streamed is all of a stream.
type streamed struct {
	chunks    []chunk
	text      string
	reasoning string
	calls     []call
	finishes  []string
	done      bool
}

// stream sends a request and reads its stream, until see says that it is enough.
func (r *rig) stream(ctx context.Context, body fields, see func(*streamed) bool) streamed {
	r.Helper()
	response := r.post(ctx, with(body, "stream", true))
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		b, _ := io.ReadAll(response.Body)
		r.Fatalf("status %d, %s: %s", response.StatusCode, kind, b)
	}
	var s streamed
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			r.Fatalf("chunk %s: %v", data, err)
		}
		s.take(c)
		if see != nil && !see(&s) {
			return s
		}
	}
	return s
}

func (s *streamed) take(c chunk) {
	s.chunks = append(s.chunks, c)
	for _, choice := range c.Choices {
		if choice.Delta.Content != nil {
			s.text += *choice.Delta.Content
		}
		s.reasoning += choice.Delta.ReasoningContent
		s.calls = append(s.calls, choice.Delta.ToolCalls...)
		if choice.Finish != nil {
			s.finishes = append(s.finishes, *choice.Finish)
		}
	}
}

// decode reads the body of a response.
func decode(t *testing.T, response *http.Response, into any) {
	t.Helper()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}

// startOf is what the first turn of a chat runs with.
func startOf(r *rig, chat string) events.Effective {
	r.Helper()
	for commit, err := range r.client.Commits(r.Context(), chat, 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range commit.Events {
			if e, ok := e.(events.TurnStarted); ok && e.Settings.Body != nil {
				return *e.Settings.Body
			}
		}
	}
	r.Fatal("no turn was started")
	return events.Effective{}
}
