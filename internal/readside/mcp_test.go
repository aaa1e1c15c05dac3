package readside_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/mcp"
	"github.com/everturn/everturn/internal/readside"
)

// host is an MCP host that shows a token.
func (h *house) host(address, token string, told func(string)) *sdk.ClientSession {
	h.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if told != nil {
				told(r.Params.Message)
			}
		},
	})
	s, err := c.Connect(h.Context(), &sdk.StreamableClientTransport{
		Endpoint: address + mcp.Pattern, HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = s.Close() })
	return s
}

// bearer shows a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// arguments of a tool.
type arguments = map[string]any

// use calls a tool and decodes what it says; the text is that of an error.
func use[T any](t *testing.T, s *sdk.ClientSession, name string, in arguments) (out T, refused string) {
	t.Helper()
	p := &sdk.CallToolParams{Name: name, Arguments: in}
	p.SetProgressToken("p")
	r, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s %v: %v", name, in, err)
	}
	if r.IsError {
		return out, r.Content[0].(*sdk.TextContent).Text
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%s says %s: %v", name, b, err)
	}
	return out, ""
}

// hosts builds a house with a gateway and a token of the tenant acme that counts.
func hosts(t *testing.T) (h *house, address, token string) {
	t.Helper()
	h = build(t, 0)
	address, _ = h.gate(readside.GatewayConfig{Version: "1.2.3"})
	token = h.token("acme", "host", "user:ann")
	h.until("the token counts", func() bool { return h.ask(token, "GET", address+"/v1/chats/x", "").status == http.StatusNotFound })
	return h, address, token
}

func TestAHostTalksInChats(t *testing.T) {
	t.Parallel()
	h, address, token := hosts(t)
	s := h.host(address, token, nil)
	if v := s.InitializeResult().ServerInfo.Version; v != "1.2.3" {
		t.Errorf("it is version %q", v)
	}

	first, _ := use[mcp.Turn](t, s, "send", arguments{"text": "hello", "id": "one"})
	if first.Status != mcp.StatusCompleted || first.Text != "you said: hello" || first.Turn != 1 {
		t.Fatalf("it says %+v", first)
	}
	again, _ := use[mcp.Turn](t, s, "send", arguments{"text": "hello", "id": "one"})
	if again.Chat != first.Chat || again.Turn != 1 || again.Text != first.Text {
		t.Errorf("the same call again: %+v, want %+v", again, first)
	}
	second, _ := use[mcp.Turn](t, s, "send", arguments{"text": "and Oslo?", "chat": first.Chat})
	if second.Turn != 2 || second.Text != "you said: and Oslo?" {
		t.Errorf("it says %+v", second)
	}
	named, _ := use[mcp.Turn](t, s, "send", arguments{"text": "hi", "chat": "oslo"})
	if named.Chat != "oslo" || named.Text != "you said: hi" {
		t.Errorf("it says %+v", named)
	}

	page, _ := use[mcp.Transcript](t, s, "read_transcript", arguments{"chat": first.Chat, "limit": 3})
	if len(page.Messages) != 3 || page.Next != 3 || page.Messages[2].Text != "and Oslo?" {
		t.Errorf("the first page is %+v", page)
	}
	page, _ = use[mcp.Transcript](t, s, "read_transcript", arguments{"chat": first.Chat, "limit": 3, "after": page.Next})
	if len(page.Messages) != 1 || page.Next != 0 || page.Messages[0].Text != "you said: and Oslo?" {
		t.Errorf("the second page is %+v", page)
	}
	h.until("the chats are listed", func() bool {
		list, _ := use[mcp.List](t, s, "list_chats", nil)
		return len(list.Chats) == 2
	})
	h.until("what was said is found", func() bool {
		hits, _ := use[mcp.Hits](t, s, "search_chats", arguments{"text": "Oslo"})
		return len(hits.Hits) > 0 && hits.Hits[0].Chat == first.Chat
	})
}

func TestAHostIsNeverKeptWaiting(t *testing.T) {
	t.Parallel()
	h, address, token := hosts(t)
	told := make(chan string, 8)
	s := h.host(address, token, func(text string) { told <- text })
	began := time.Now()
	long, _ := use[mcp.Turn](t, s, "send", arguments{"text": "wait", "wait_seconds": 0.5})
	if long.Status != mcp.StatusRunning || time.Since(began) > 10*time.Second {
		t.Errorf("after %v it says %+v", time.Since(began), long)
	}
	if text := <-told; text != "one " && text != "one moment " {
		t.Errorf("while it was said it told %q", text)
	}
	queued, _ := use[mcp.Turn](t, s, "send", arguments{"text": "then this", "chat": long.Chat, "wait_seconds": 0})
	if queued.Status != mcp.StatusQueued {
		t.Errorf("behind it: %+v", queued)
	}

	// Who goes away does not stop the turn.
	leaving, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer leave()
	if _, err := s.CallTool(leaving, &sdk.CallToolParams{Name: "wait", Arguments: arguments{"chat": long.Chat}}); err == nil {
		t.Error("a wait that was given up has an answer")
	}
	still, _ := use[mcp.Turn](t, s, "wait", arguments{"chat": long.Chat, "turn": long.Turn, "wait_seconds": 0})
	if still.Status != mcp.StatusRunning {
		t.Errorf("after somebody went away: %+v", still)
	}

	ended, _ := use[mcp.Turn](t, s, "interrupt", arguments{"chat": long.Chat, "turn": long.Turn, "reason": "enough"})
	if ended.Status != mcp.StatusInterrupted || ended.Reason != "enough" || !strings.HasPrefix(ended.Text, "one moment") {
		t.Errorf("interrupted it says %+v", ended)
	}
	next, _ := use[mcp.Turn](t, s, "wait", arguments{"chat": long.Chat, "turn": 2})
	if next.Status != mcp.StatusCompleted || next.Text != "you said: then this" {
		t.Errorf("the next turn says %+v", next)
	}
}

// A call that takes longer than an answer may take to be accepted has its answer all
// the same, and one that is in hand does not hold up a gateway that is to end.
func TestAHostWaitsForLongAndNotForever(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	const accepted = time.Second
	address, stop := h.gate(readside.GatewayConfig{Config: gateway.Config{AnswerWait: accepted, StopWait: patience}})
	token := h.token("acme", "host", "user:ann")
	h.until("the token counts", func() bool { return h.ask(token, "GET", address+"/v1/chats/x", "").status == http.StatusNotFound })
	told := make(chan string, 8)
	s := h.host(address, token, func(text string) { told <- text })
	long, no := use[mcp.Turn](t, s, "send", arguments{"text": "wait", "wait_seconds": 3 * accepted.Seconds()})
	if long.Status != mcp.StatusRunning {
		t.Errorf("it says %+v %s", long, no)
	}
	<-told
	answered := make(chan bool, 1)
	go func() {
		p := &sdk.CallToolParams{Name: "send", Arguments: arguments{"text": "wait", "wait_seconds": 600}}
		p.SetProgressToken("q")
		r, err := s.CallTool(t.Context(), p)
		answered <- err == nil && !r.IsError
	}()
	<-told
	began := time.Now()
	stop()
	if took := time.Since(began); took > patience/2 {
		t.Errorf("the gateway took %v to end", took)
	}
	if <-answered {
		t.Error("a call that a gateway has dropped says how its turn stands")
	}
}

func TestAHostIsRefusedInWords(t *testing.T) {
	t.Parallel()
	h, address, token := hosts(t)
	s := h.host(address, token, nil)
	if begun, no := use[mcp.Turn](t, s, "send", arguments{"text": "hello", "chat": "somebodys"}); begun.Turn != 1 {
		t.Fatalf("it says %+v %s", begun, no)
	}
	for _, tt := range []struct {
		tool string
		in   arguments
		want string
	}{
		{"send", arguments{"text": " "}, "nothing to say"},
		{"send", arguments{"text": "x", "chat": "no spaces"}, "chat"},
		{"send", arguments{"text": "x", "wait_seconds": 601}, "wait_seconds"},
		{"send", arguments{"text": "x", "id": strings.Repeat("x", 300)}, "id"},
		{"wait", arguments{"chat": "nobodys"}, "unknown_chat"},
		{"wait", arguments{"chat": "somebodys", "turn": 999999, "wait_seconds": 600}, "unknown_turn"},
		{"wait", arguments{"chat": "somebodys", "turn": -1, "wait_seconds": 600}, "unknown_turn"},
		{"interrupt", arguments{"chat": "somebodys", "turn": 999999}, "turn"},
		{"read_transcript", arguments{"chat": "nobodys"}, "unknown_chat"},
		{"read_transcript", arguments{"chat": "nobodys", "limit": 101}, "limit"},
		{"interrupt", arguments{"chat": "nobodys"}, "unknown_chat"},
		{"approve", arguments{"chat": "nobodys", "call": "x"}, "call"},
		{"approve", arguments{"chat": "nobodys", "call": "1.1.1"}, "unknown_chat"},
		{"list_chats", arguments{"after": "no cursor"}, "bad"},
	} {
		if _, no := use[arguments](t, s, tt.tool, tt.in); !strings.Contains(no, tt.want) {
			t.Errorf("%s %v is refused with %q, want %q in it", tt.tool, tt.in, no, tt.want)
		}
	}
	// Many calls in one request would count as one.
	many := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_chats"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_chats"}}]`
	for _, body := range []string{many, " \n" + many} {
		if no := h.ask(token, "POST", address+mcp.Pattern, body, "Accept", "application/json, text/event-stream"); no.status != http.StatusUnprocessableEntity || !strings.Contains(no.body, "one after the other") {
			t.Errorf("several messages at once: %d %s", no.status, no.body)
		}
	}
	no := h.ask("", "POST", address+mcp.Pattern, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if no.status != http.StatusUnauthorized || no.header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %d %s", no.status, no.body)
	}
}
