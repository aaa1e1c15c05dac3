package readside_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/mcp"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
)

// target is what another tenant's request names: something that its owner has, or
// something that nobody has.
type target struct{ chat, own, command, digest string }

// What only the owner has ever said: a word that others search for, and one that is
// never asked for, so that nobody but the owner can be told it.
const (
	hint   = "Kaltenbrunn"
	secret = "Meierhof"
)

// nobodys has the form of what is there, and is not.
var nobodys = target{
	chat: "nobodyschat00001", own: "mineofnobodys001", command: "01KB6Q3Z8V0000000000000009",
	digest: string(events.DigestOf([]byte("what nobody has stored"))),
}

// Of what another tenant asks for, the gateway answers the same bytes whether somebody
// else has it or nobody: on every way in that there is, so also on one that is made
// later.
func TestNothingOfAnotherTenantIsToldOrConfirmed(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	made := make(chan *gateway.Gateway, 1)
	address, _ := h.gate(readside.GatewayConfig{Made: func(g *gateway.Gateway) { made <- g }})
	ways := (<-made).Ways()
	reader, err := streams.OpenReader(t.Context(), h.connect(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)

	owner := h.token("acme", "owner", "user:owner")
	h.until("the owner's token counts", func() bool { return h.ask(owner, "GET", address+"/v1/chats/x", "").status == http.StatusNotFound })
	theirs := h.furnish(address, owner)
	before := h.ask(owner, "GET", address+"/v1/chats/"+theirs.chat+"/commits", "").body

	told := 0
	for n, w := range ways {
		if w.Open {
			continue
		}
		tenant := fmt.Sprintf("mallory-%d", n)
		if err := reader.Agents.Put(t.Context(), tenant, "helper", events.Settings{Model: "script"}); err != nil {
			t.Fatal(err)
		}
		token := h.token(tenant, "token", "user:mallory")
		h.until("the token counts", func() bool { return h.ask(token, "GET", address+"/v1/chats/x", "").status == http.StatusNotFound })
		for _, p := range probesOf(t, w.Pattern) {
			there, nowhere := h.probe(address, token, p, theirs), h.probe(address, token, p, nobodys)
			if there != nowhere {
				t.Errorf("%s %+v: of what somebody has\n%s\nof what nobody has\n%s", w.Pattern, p, there, nowhere)
			}
			if strings.Contains(there, secret) || strings.Contains(there, "user:owner") {
				t.Errorf("%s %+v tells %s", w.Pattern, p, there)
			}
			if p.method == http.MethodPost && strings.Contains(p.body, "read_transcript") && !strings.Contains(h.probe(address, owner, p, theirs), secret) {
				t.Errorf("%s %s does not tell the owner anything", w.Pattern, p.body)
			}
			if p.method == http.MethodGet && strings.Contains(h.probe(address, owner, p, theirs), secret) {
				told++
			}
		}
	}
	if told < 5 { // else nothing was there to be kept secret
		t.Errorf("only %d questions tell the owner anything", told)
	}
	if after := h.ask(owner, "GET", address+"/v1/chats/"+theirs.chat+"/commits", "").body; after != before {
		t.Errorf("the owner's chat has changed:\n%s", after)
	}
}

// furnish gives the owner a chat.
func (h *house) furnish(address, owner string) target {
	h.Helper()
	theirs := target{chat: "victimschat00001", own: "mineofvictims001"}
	in := address + "/v1/chats/" + theirs.chat
	h.ask(owner, "POST", in+"/create", `{"title":"`+hint+` `+secret+`"}`)
	theirs.digest = string(into[gateway.Uploaded](h.T, h.ask(owner, "PUT", in+"/content", secret+" as content")).Digest)
	theirs.command = into[gateway.Outcome](h.T, h.ask(owner, "POST", in+"/send", `{"parts":[{"type":"text","text":"meet me in `+hint+`, `+secret+`"}]}`)).ID
	h.until("the owner's chat is listed, and can be found", func() bool {
		list := into[listing.Hits](h.T, h.ask(owner, "GET", address+"/v1/search?text="+hint, ""))
		head := into[transcript.Head](h.T, h.ask(owner, "GET", in, ""))
		return len(list.Hits) >= 2 && head.MessageCount == 2 && head.Status == "idle"
	})
	return theirs
}

// probe is a request of which only what it names is left open.
type probe struct{ method, path, kind, body string }

// in is the probe of a target.
func (p probe) in(t target) probe {
	r := strings.NewReplacer("{chat}", t.chat, "{own}", t.own, "{id}", t.command, "{digest}", t.digest)
	return probe{p.method, r.Replace(p.path), p.kind, r.Replace(p.body)}
}

var (
	wildcard = regexp.MustCompile(`\{[a-z]+(\.\.\.)?\}`)
	digest   = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	minted   = regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)
	instant  = regexp.MustCompile(`"created":\d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?`)
)

// probesOf are the requests that a pattern lets through: with the target in its path,
// in its query, and in its body while the path names a chat of one's own.
func probesOf(t *testing.T, pattern string) []probe {
	t.Helper()
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		t.Fatalf("%s lets every method through", pattern)
	}
	path = strings.ReplaceAll(path, "{$}", "")
	var paths []string
	for _, verb := range []string{"send", "archive"} { // where the pattern leaves that open
		filled := strings.ReplaceAll(path, "{verb}", verb)
		for _, word := range wildcard.FindAllString(filled, -1) {
			if !slices.Contains([]string{"{chat}", "{id}", "{digest}"}, word) {
				filled = strings.ReplaceAll(filled, word, "1")
			}
		}
		if !slices.Contains(paths, filled) {
			paths = append(paths, filled, strings.ReplaceAll(filled, "{chat}", "{own}"))
		}
	}
	slices.Sort(paths)
	var all []probe
	for _, path := range slices.Compact(paths) {
		if method == http.MethodGet {
			all = append(all, probe{method: method, path: path})
			if strings.Contains(path, "{own}") {
				continue
			}
			for _, query := range []string{
				"chat={chat}", "parent={chat}", "owner=user:owner", "text=" + hint, "q=" + hint, "rev=2", "at=2", "step=1.1", "by=chat",
			} {
				all = append(all, probe{method: method, path: path + "?" + query})
			}
			continue
		}
		for _, body := range bodiesFor(t, path) {
			all = append(all, probe{method, path, "application/json", body})
		}
		form := url.Values{"text": {"x"}, "input": {"{id}"}, "turn": {"1"}, "call": {"1.1.1"}, "title": {"x"}, "chat": {"{chat}"}}
		all = append(all, probe{method, path, "application/x-www-form-urlencoded", replaceEscaped(form.Encode())})
	}
	return all
}

// replaceEscaped has the places for a target as they were before a form was encoded.
func replaceEscaped(s string) string {
	return strings.NewReplacer("%7B", "{", "%7D", "}").Replace(s)
}

// bodiesFor are JSON bodies for a path: those of its verb in all their forms.
func bodiesFor(t *testing.T, path string) []string {
	t.Helper()
	if path == mcp.Pattern {
		return toolCalls()
	}
	files, err := filepath.Glob("../../protocol/testdata/wire/command." + filepath.Base(path) + ".*.json")
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{"", `{"title":"x"}`, `{"model":"helper","messages":[{"role":"user","content":"hello"}],"metadata":{"chat_id":"{chat}"}}`}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.ReplaceAll(string(content), `"oslo"`, `"{chat}"`)
		body = minted.ReplaceAllString(digest.ReplaceAllString(body, "{digest}"), "{id}")
		bodies = append(bodies, strings.TrimSpace(body))
	}
	return bodies
}

// toolCalls are calls of all tools that MCP offers, each on its own. What makes a chat of
// one's own comes last: it is no secret to who made it.
func toolCalls() []string {
	var bodies []string
	for _, call := range []string{
		`"list_chats","arguments":{}`,
		`"search_chats","arguments":{"text":"` + hint + `"}`,
		`"search_chats","arguments":{"text":"` + hint + `","chat":"{chat}"}`,
		`"read_transcript","arguments":{"chat":"{chat}"}`,
		`"wait","arguments":{"chat":"{chat}","wait_seconds":0}`,
		`"interrupt","arguments":{"chat":"{chat}","turn":1,"wait_seconds":0}`,
		`"approve","arguments":{"chat":"{chat}","call":"1.1.1","wait_seconds":0}`,
		`"deny","arguments":{"chat":"{chat}","call":"1.1.1","wait_seconds":0}`,
		`"answer","arguments":{"chat":"{chat}","call":"1.1.1","answers":{},"wait_seconds":0}`,
		`"send","arguments":{"text":"x","chat":"{chat}","id":"the same","wait_seconds":20}`,
	} {
		bodies = append(bodies, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+call+`}}`)
	}
	return bodies
}

// watched is how long an answer is read that has no end.
const watched = 300 * time.Millisecond

// probe is everything that is answered, without what is never the same twice.
func (h *house) probe(address, token string, p probe, at target) string {
	h.Helper()
	p = p.in(at)
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, p.method, address+p.path, strings.NewReader(p.body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", "the same")
	r.Header.Set("Everturn-Chat", at.chat)
	if p.kind != "" {
		r.Header.Set("Content-Type", p.kind)
	}
	if p.path == mcp.Pattern {
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close()
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") && p.path != mcp.Pattern { // whose streams end
		time.AfterFunc(watched, cancel)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil && ctx.Err() == nil {
		h.Fatal(err)
	}
	for _, changing := range []string{"Date", "X-Request-Id", "Ratelimit-Remaining", "Ratelimit-Reset", "Content-Length"} {
		answer.Header.Del(changing)
	}
	var said strings.Builder
	fmt.Fprintln(&said, answer.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
		fmt.Fprintln(&said, name, answer.Header[name])
	}
	said.Write(body)
	text := strings.NewReplacer(at.chat, "CHAT", at.own, "OWN", at.digest, "DIGEST", at.command, "ID").Replace(said.String())
	return instant.ReplaceAllString(minted.ReplaceAllString(text, "MINTED"), "TIME")
}

// The same on the bus: every query that a projection answers, asked by a client of
// another tenant.
func TestNoQueryTellsOrConfirmsWhatAnotherTenantHas(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	address, _ := h.gate(readside.GatewayConfig{})
	owner := h.token("acme", "owner", "user:owner")
	h.until("the owner's token counts", func() bool { return h.ask(owner, "GET", address+"/v1/chats/x", "").status == http.StatusNotFound })
	theirs := h.furnish(address, owner)
	nc := h.connect()
	names := queryNames(t, nc)
	if len(names) < 10 {
		t.Fatalf("only %v are answered", names)
	}
	ask := func(tenant, name string, at target, body string) string {
		body = probe{body: body}.in(at).body
		m, err := nc.Request(protocol.QuerySubject(tenant, name), []byte(body), patience)
		if err != nil {
			t.Fatalf("%s %s: %v", name, body, err)
		}
		text := fmt.Sprint(m.Header, string(m.Data))
		text = strings.NewReplacer(at.chat, "CHAT", at.digest, "DIGEST", at.command, "ID").Replace(text)
		return instant.ReplaceAllString(text, "TIME")
	}
	told := 0
	for _, name := range names {
		for _, body := range []string{
			`{"chat":"{chat}"}`, `{"chat":"{chat}","id":"{id}"}`, `{"chat":"{chat}","rev":2}`, `{"chat":"{chat}","step":"1.1"}`, `{}`, `{"parent":"{chat}"}`,
			`{"owner":"user:owner"}`, `{"text":"` + hint + `"}`, `{"text":"` + hint + `","chat":"{chat}"}`, `{"by":"chat"}`, `{"by":"chat","chat":"{chat}"}`,
			`{"v":1,"chat":"{chat}","blob":"{digest}"}`, `{"chat":"{chat}","download":{"v":1,"blob":"{digest}"}}`,
		} {
			there, nowhere := ask("mallory", name, theirs, body), ask("mallory", name, nobodys, body)
			if there != nowhere {
				t.Errorf("%s %s: of what somebody has\n%s\nof what nobody has\n%s", name, body, there, nowhere)
			}
			if strings.Contains(there, secret) || strings.Contains(there, "user:owner") {
				t.Errorf("%s %s tells %s", name, body, there)
			}
			if strings.Contains(ask("acme", name, theirs, body), secret) {
				told++
			}
		}
	}
	if told < 5 {
		t.Errorf("only %d questions tell the owner anything", told)
	}
}

// queryNames are the queries that somebody answers, as services say themselves.
func queryNames(t *testing.T, nc *nats.Conn) []string {
	t.Helper()
	m, err := nc.Request("$SRV.INFO", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Endpoints []struct {
			Subject string `json:"subject"`
		} `json:"endpoints"`
	}
	if err := json.Unmarshal(m.Data, &info); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range info.Endpoints {
		names = append(names, e.Subject[strings.LastIndex(e.Subject, ".")+1:])
	}
	return names
}
