package readside_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
)

func TestAChatOverHTTP(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "ci", "service:ci")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/none", "").status == http.StatusNotFound })

	made := h.ask(token, "POST", url+"/v1/chats", `{"title":"over HTTP"}`)
	chat := into[gateway.Outcome](t, made).Chat
	if made.status != http.StatusCreated || made.header.Get("Location") != "/v1/chats/"+chat {
		t.Fatalf("create answers %d %v %s", made.status, made.header, made.body)
	}
	sent := h.ask(token, "POST", url+"/v1/chats/"+chat+"/send", `{"parts":[{"type":"text","text":"hello"}]}`)
	if out := into[gateway.Outcome](t, sent); sent.status != http.StatusOK || !out.OK || out.Turn != 1 {
		t.Fatalf("send answers %d %s", sent.status, sent.body)
	}
	h.until("the turn has ended", func() bool {
		return into[transcript.Head](t, h.ask(token, "GET", url+"/v1/chats/"+chat, "")).Status == "idle"
	})
	page := h.ask(token, "GET", url+"/v1/chats/"+chat+"/transcript?limit=10", "")
	if !strings.Contains(page.body, "you said: hello") || !strings.Contains(page.body, `"by":"service:ci"`) {
		t.Errorf("the transcript is %s", page.body)
	}
	commits := into[transcript.Commits](t, h.ask(token, "GET", url+"/v1/chats/"+chat+"/commits?after=1", ""))
	if len(commits.Commits) == 0 || commits.Rev < 3 {
		t.Errorf("the commits are %+v", commits)
	}
	outcome := h.ask(token, "GET", url+"/v1/commands/"+chat+"/"+into[gateway.Outcome](t, sent).ID, "")
	if r := into[protocol.Reply](t, outcome); !r.OK || r.Turn != 1 {
		t.Errorf("the outcome is %s", outcome.body)
	}
	up := h.ask(token, "PUT", url+"/v1/chats/"+chat+"/content", "some bytes")
	stored := into[gateway.Uploaded](t, up)
	down := h.ask(token, "GET", url+"/v1/chats/"+chat+"/content/"+string(stored.Digest), "")
	if down.body != "some bytes" || down.header.Get("Content-Disposition") != "attachment" || down.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("stored %s, got %d %v %q", up.body, down.status, down.header, down.body)
	}
	shown := h.ask(token, "GET", url+"/v1/chats/"+chat+"/content/"+string(stored.Digest)+"?type=image/png", "")
	if shown.header.Get("Content-Type") != "image/png" {
		t.Errorf("an image is shown as %v", shown.header)
	}
	known := h.ask(token, "GET", url+"/v1/chats/"+chat+"/content/"+string(stored.Digest), "", "If-None-Match", down.header.Get("ETag"))
	if known.status != http.StatusNotModified || known.body != "" {
		t.Errorf("what is known is answered %d %q", known.status, known.body)
	}
}

func TestWhatIsWrongWithARequestIsSaid(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "ci", "")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/none", "").status == http.StatusNotFound })
	chat := into[gateway.Outcome](t, h.ask(token, "POST", url+"/v1/chats", "")).Chat
	in := url + "/v1/chats/" + chat
	for _, tt := range []struct {
		method, url, body string
		status            int
		code              events.Code
		says              string
	}{
		{"POST", in + "/send", `{"parts":[],"prats":1}`, 400, events.CodeBadCommand, "prats"},
		{"POST", in + "/send", `{"parts":`, 400, events.CodeBadCommand, "body"},
		{"POST", in + "/send", `[]`, 400, events.CodeBadCommand, "body"},
		{"POST", in + "/send", `{"v":2}`, 400, events.CodeBadCommand, `"v":1`},
		{"POST", in + "/send", "", 400, problem.CodeBadRequest, "body is required"},
		{"POST", in + "/rename", `{"title":"` + strings.Repeat("x", protocol.MaxCommandBytes) + `"}`, 413, events.CodeTooLarge, "large"},
		{"POST", in + "/sned", `{}`, 404, events.CodeUnknownVerb, "sned"},
		{"POST", in + "/retry", ``, 404, events.CodeUnknownTurn, ""},
		{"POST", in + "/select-branch", `{"turn":7}`, 404, events.CodeUnknownTurn, ""},
		{"POST", url + "/v1/chats/none/send", `{"parts":[{"type":"text","text":"x"}]}`, 404, events.CodeUnknownChat, ""},
		{"POST", url + "/v1/chats/a.b/send", `{"parts":[{"type":"text","text":"x"}]}`, 404, events.CodeUnknownChat, ""},
		{"POST", in + "/create", `{}`, 409, events.CodeExists, ""},
		{"GET", in + "/transcript?limit=many", "", 422, problem.CodeBadRequest, "validation"},
		{"GET", in + "/transcript?page=2", "", 422, problem.CodeBadRequest, "validation"},
		{"GET", in + "/transcript?at=never", "", 400, events.CodeBadCommand, "never"},
		{"GET", url + "/v1/search", "", 422, problem.CodeBadRequest, "validation"},
		{"GET", in + "/content/x", "", 422, problem.CodeBadRequest, "sha256"},
		{"PUT", in + "/content", "", 400, problem.CodeBadRequest, "body is required"},
		{"DELETE", in, "", 405, problem.CodeBadMethod, "GET"},
		{"GET", url + "/v2/chats", "", 404, problem.CodeNotFound, "openapi"},
	} {
		answer := h.ask(token, tt.method, tt.url, tt.body)
		answer.refuses(t, tt.status, tt.code)
		p := into[problem.Problem](t, answer)
		if !strings.Contains(p.Detail, tt.says) || p.Title == "" {
			t.Errorf("%s %.80s: %s; nothing says %q", tt.method, tt.url, answer.body, tt.says)
		}
		if answer.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %.80s: no request id", tt.method, tt.url)
		}
	}
	h.ask(token, "POST", in+"/send", `{"parts":[{"type":"text","text":"x"}]}`, "Content-Type", "text/plain").refuses(t, 415, problem.CodeBadMedia)
	if got := h.ask("", "GET", in, "", "X-Request-Id", "mine-1"); got.header.Get("X-Request-Id") != "mine-1" || got.header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %d %v", got.status, got.header)
	}
	if got := h.ask("", "GET", in, "", "X-Request-Id", "<script>"); got.header.Get("X-Request-Id") == "<script>" {
		t.Error("an id that can be anything is echoed")
	}
}

func TestTheSameIdempotencyKeyIsTheSameCommand(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	one, other := h.token("acme", "one", ""), h.token("globex", "other", "")
	h.until("the tokens count", func() bool {
		return h.ask(one, "GET", url+"/v1/chats/x", "").status == 404 && h.ask(other, "GET", url+"/v1/chats/x", "").status == 404
	})
	create := func(token, key string) gateway.Outcome {
		return into[gateway.Outcome](t, h.ask(token, "POST", url+"/v1/chats", "{}", "Idempotency-Key", key))
	}
	first := create(one, "my key")
	if again := create(one, "my key"); again != first {
		t.Errorf("the same key made %+v and then %+v", first, again)
	}
	if foreign := create(other, "my key"); foreign.Chat == first.Chat || foreign.ID == first.ID {
		t.Errorf("the same key of another tenant is the same chat: %+v", foreign)
	}
	send := func(key string) gateway.Outcome {
		return into[gateway.Outcome](t, h.ask(one, "POST", url+"/v1/chats/"+first.Chat+"/send",
			`{"parts":[{"type":"text","text":"hello"}]}`, "Idempotency-Key", key))
	}
	ulid := "01KB6Q3Z8V0000000000000001"
	if got := send(ulid); got.ID != ulid {
		t.Errorf("a ULID is made into %s", got.ID)
	}
	for range 3 {
		if got := send("k"); got != send("k") {
			t.Errorf("it is another command: %+v", got)
		}
	}
	h.until("both are answered", func() bool {
		return into[transcript.Head](t, h.ask(one, "GET", url+"/v1/chats/"+first.Chat, "")).MessageCount == 4
	})
}

func TestATokenCountsUntilItIsRevokedOrExpires(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	first, _ := h.gate(readside.GatewayConfig{})
	second, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "ci", "")
	status := func(url string) int { return h.ask(token, "GET", url+"/v1/chats/none", "").status }
	h.until("both gateways take it", func() bool { return status(first) == 404 && status(second) == 404 })
	h.ask(token, "POST", first+"/v1/chats/watched/create", "")
	watching, err := http.NewRequestWithContext(t.Context(), http.MethodGet, first+"/v1/chats/watched/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	watching.Header.Set("Authorization", "Bearer "+token)
	stream, err := http.DefaultClient.Do(watching)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("who watches gets %v, %v", stream, err)
	}
	defer stream.Body.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.Body) // until it is broken off
	}()
	if err := h.tokens.Delete(t.Context(), streams.HashToken(token)); err != nil {
		t.Fatal(err)
	}
	h.until("neither takes it", func() bool { return status(first) == 401 && status(second) == 401 })
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("who watches with it goes on")
	}

	brief := streams.NewToken()
	soon := events.At(time.Now().Add(time.Second))
	if err := h.tokens.Put(t.Context(), streams.HashToken(brief), streams.Token{Tenant: "acme", Name: "brief", Expires: soon}); err != nil {
		t.Fatal(err)
	}
	h.until("it counts", func() bool { return h.ask(brief, "GET", first+"/v1/chats/none", "").status == 404 })
	h.until("it has expired", func() bool { return h.ask(brief, "GET", first+"/v1/chats/none", "").status == 401 })
}

func TestWhoSpeaksIsSaidByTheMakerOfATokenOrItsHolder(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{Config: gateway.Config{Local: identity.Identity{Tenant: "acme", By: "user:laptop"}}})
	fixed, free := h.token("acme", "fixed", "service:ci"), h.token("acme", "free", "")
	h.until("the tokens count", func() bool {
		return h.ask(fixed, "GET", url+"/v1/chats/x", "").status == 404 && h.ask(free, "GET", url+"/v1/chats/x", "").status == 404
	})
	h.ask(fixed, "POST", url+"/v1/chats", "", "Everturn-By", "user:eve").refuses(t, 422, problem.CodeBadRequest)
	for _, tt := range []struct{ token, said, want string }{
		{fixed, "", "service:ci"}, {free, "", "token:free"}, {free, "user:ann", "user:ann"}, {"", "", "user:laptop"},
	} {
		made := h.ask(tt.token, "POST", url+"/v1/chats", "", "Everturn-By", tt.said)
		chat := into[gateway.Outcome](t, made).Chat
		if commits := h.ask(tt.token, "GET", url+"/v1/chats/"+chat+"/commits", ""); !strings.Contains(commits.body, `"by":"`+tt.want+`"`) {
			t.Errorf("want by %s in %s", tt.want, commits.body)
		}
	}
}

func TestABrowserLogsInAndOut(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "ann", "user:ann")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/x", "").status == 404 })
	form := func(body string, header ...string) said {
		return h.ask("", "POST", url+"/login", body, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
	}
	in := form("token=" + token + "&next=/c/oslo")
	cookie := in.header.Get("Set-Cookie")
	if in.status != 303 || in.header.Get("Location") != "/c/oslo" {
		t.Errorf("login answers %d %v", in.status, in.header)
	}
	for _, word := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, word) {
			t.Errorf("the cookie %q lacks %s", cookie, word)
		}
	}
	if behind := form("token="+token, "X-Forwarded-Proto", "https").header.Get("Set-Cookie"); !strings.Contains(behind, "Secure") || !strings.HasPrefix(behind, "__Host-") {
		t.Errorf("behind a proxy with https the cookie is %q", behind)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	if got := h.ask("", "GET", url+"/v1/chats/x", "", "Cookie", pair); got.status != 404 {
		t.Errorf("with the cookie: %d %s", got.status, got.body)
	}
	h.ask("", "POST", url+"/v1/chats", "", "Cookie", pair, "Sec-Fetch-Site", "cross-site").refuses(t, 403, problem.CodeCrossSite)
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, ""} {
		if got := form("token=" + token + "&next=" + next).header.Get("Location"); got != "/" {
			t.Errorf("a login leads from %q to %q", next, got)
		}
	}
	form("token=evt_wrong").refuses(t, 401, problem.CodeUnauthorized)
	if got := form("token=evt_wrong", "Accept", "text/html"); got.status != 303 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token leads to %d %v", got.status, got.header)
	}
	out := h.ask("", "POST", url+"/logout", "", "Cookie", pair)
	if out.status != 303 || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout answers %d %v", out.status, out.header)
	}
}
