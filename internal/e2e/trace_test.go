//go:build processes

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// tracedSpan is a span, and the process that sent it.
type tracedSpan struct {
	*otlp.Span

	service string
}

// attribute is a text or number of the span, as text.
func (s tracedSpan) attribute(key string) string { return attributeOf(s.Attributes, key) }

func attributeOf(list []*common.KeyValue, key string) string {
	for _, a := range list {
		if a.Key != key {
			continue
		}
		if text := a.Value.GetStringValue(); text != "" {
			return text
		}
		return fmt.Sprint(a.Value.GetIntValue())
	}
	return ""
}

// collect starts a collector and has all processes that are started from now on send
// their spans there. The function gives those that have come.
func collect(t *testing.T) (spans func() []tracedSpan) {
	t.Helper()
	var mu sync.Mutex
	var list []tracedSpan
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
			http.Error(w, "no traces", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, from := range request.ResourceSpans {
			for _, scope := range from.ScopeSpans {
				for _, span := range scope.Spans {
					list = append(list, tracedSpan{span, attributeOf(from.Resource.Attributes, "service.name")})
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	return func() []tracedSpan {
		mu.Lock()
		defer mu.Unlock()
		return append([]tracedSpan(nil), list...)
	}
}

// untilTraced waits until the turn's own span has come, and gives all of its trace, by name.
func untilTraced(t *testing.T, spans func() []tracedSpan, k events.Key, want int) map[string][]tracedSpan {
	t.Helper()
	ctx := patient(t)
	id := digest("everturn trace\n", k, "turn 1")[:32]
	for {
		of := map[string][]tracedSpan{}
		n := 0
		for _, s := range spans() {
			if hex.EncodeToString(s.TraceId) == id {
				of[s.Name] = append(of[s.Name], s)
				n++
			}
		}
		if n >= want {
			return of
		}
		select {
		case <-ctx.Done():
			t.Fatalf("of %d spans of the turn %d have come: %v", want, n, of)
		case <-time.After(poll):
		}
	}
}

// digest is what ids are made of, as docs/OPERATIONS.md has it.
func digest(kind string, k events.Key, name string) string {
	sum := sha256.Sum256([]byte(kind + k.Tenant + "\n" + k.Chat + "\n" + name))
	return hex.EncodeToString(sum[:])
}

// A turn with one tool is one trace, of spans that came from two processes.
func TestATurnIsOneTrace(t *testing.T) {
	spans := collect(t)
	c := startCluster(t, settings{ackWait: time.Second, script: `
rules:
  - when: {input: hush, step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - answer:
      - text: "The ledger said: {{result}}"
`})
	startParts(c)
	cl, r := c.client(), c.reader()
	sender := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: trace.FlagsSampled})
	k := cl.Key("traced")
	if _, err := cl.Create(patient(t), k.Chat, protocol.Create{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Send(trace.ContextWithSpanContext(patient(t), sender), k.Chat, "hush, s3cret"); err != nil {
		t.Fatal(err)
	}
	r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })

	const command = "process everturn.cmd.{tenant}.{chat}.send"
	of := untilTraced(t, spans, k, 5)
	for name, want := range map[string]struct {
		count   int
		service string
		kind    otlp.Span_SpanKind
	}{
		"invoke_agent":               {1, "orchestrator", otlp.Span_SPAN_KIND_INTERNAL},
		"chat script":                {2, "orchestrator", otlp.Span_SPAN_KIND_CLIENT},
		"execute_tool append_ledger": {1, "toolrunner", otlp.Span_SPAN_KIND_INTERNAL},
		command:                      {1, "orchestrator", otlp.Span_SPAN_KIND_CONSUMER},
	} {
		if len(of[name]) != want.count {
			t.Errorf("%d spans are called %q, want %d: %v", len(of[name]), name, want.count, of)
			continue
		}
		for _, s := range of[name] {
			if s.service != want.service || s.Kind != want.kind {
				t.Errorf("%s is of kind %v and came from %s", name, s.Kind, s.service)
			}
			if name != "invoke_agent" && hex.EncodeToString(s.ParentSpanId) != digest("everturn span\n", k, "turn 1")[:16] {
				t.Errorf("%s is not below the turn", name)
			}
			if strings.Contains(s.String(), "s3cret") {
				t.Errorf("%s has content: %v", name, s)
			}
		}
	}
	if links := of[command][0].Links; len(links) != 1 || links[0].TraceId[0] != 1 || links[0].SpanId[0] != 2 {
		t.Errorf("the command links to %v", links)
	}
	if chat := of["chat script"][0]; chat.attribute("gen_ai.provider.name") == "" || chat.attribute("gen_ai.usage.output_tokens") == "0" ||
		chat.attribute("gen_ai.conversation.id") != k.Chat {
		t.Errorf("the attempt says %v", chat.Attributes)
	}
	turn := of["invoke_agent"][0]
	for _, s := range of["execute_tool append_ledger"] {
		const skew = uint64(time.Second)
		if s.StartTimeUnixNano+skew < turn.StartTimeUnixNano || s.EndTimeUnixNano > turn.EndTimeUnixNano+skew {
			t.Errorf("the tool ran outside of the turn")
		}
	}
}

// The attempt that takes the place of one whose process was killed is in the same trace,
// and links to it. The turn has begun before.
func TestWhatIsBegunAgainAfterAKillIsLinked(t *testing.T) {
	spans := collect(t)
	c := startCluster(t, settings{ackWait: time.Second, script: `
rules:
  - answer:
      - text: "A moment. "
      - pause: 2s
      - text: "Here I am."
`})
	c.startOrchestrator("orchestrator-1")
	c.startProjections("projections-1")
	cl, r := c.client(), c.reader()
	k := ask(t, cl, "are you there?")
	r.until(t, k, "its attempt", func(h history) bool { return h.last("step.requested.v1") })
	<-time.After(500 * time.Millisecond) // the model is asked by now
	c.kill("orchestrator-1")
	killed := time.Now()
	c.restart("orchestrator-1")
	r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })

	of := untilTraced(t, spans, k, 3)
	attempts := of["chat script"]
	if len(attempts) != 1 || attempts[0].attribute("everturn.attempt") != "2" {
		t.Fatalf("attempts %v, want the second: the first was never told", attempts)
	}
	links := attempts[0].Links
	if len(links) != 1 || hex.EncodeToString(links[0].SpanId) != digest("everturn span\n", k, "attempt 1.1-1")[:16] ||
		hex.EncodeToString(links[0].TraceId) != hex.EncodeToString(attempts[0].TraceId) {
		t.Errorf("the second attempt links to %v", links)
	}
	if turn := of["invoke_agent"][0]; turn.StartTimeUnixNano > uint64(killed.UnixNano()) || turn.EndTimeUnixNano < uint64(killed.UnixNano()) {
		t.Errorf("the turn is from %d to %d, and the process was killed at %d", turn.StartTimeUnixNano, turn.EndTimeUnixNano, killed.UnixNano())
	}
}
