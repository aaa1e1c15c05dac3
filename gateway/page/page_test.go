package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
)

func TestEveryAnswerLetsNothingInThatIsNotOurs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(1, transcript.StatusIdle, "hello")
	r.answers[listing.QueryChats] = listing.Chats{}
	r.answers[listing.QueryOpen] = listing.Open{}
	for _, path := range []string{"/", "/login", "/c/c1", "/static/page.css", "/static/none", "/c/c1/nothing", "/c/..%2f"} {
		resp, body := r.get(path)
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s lacks headers: %v", path, resp.Header)
		}
		for _, inline := range []string{"<style", " style=", " onclick=", "javascript:"} {
			if strings.Contains(body, inline) {
				t.Errorf("%s has %q in it", path, inline)
			}
		}
	}
	resp, body := r.get("/c/c1/content/" + strings.Repeat("ab", 32) + "?name=" + url.QueryEscape("../a\"\r\nX: y.html"))
	if resp.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") ||
		resp.Header.Get("X") != "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("content comes with %v: %s", resp.Header, body)
	}
}

func TestNobodyIsShownNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(1, transcript.StatusIdle, "secret words")
	for _, path := range []string{"/", "/c/c1", "/c/c1/live", "/c/c1/timeline"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Test-Nobody", "1")
		if resp, body := r.do(req); resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, "secret") {
			t.Errorf("%s answers nobody with %d: %s", path, resp.StatusCode, body)
		}
	}
}

func TestAPageOfAnotherSiteCommandsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/c/c1/send", strings.NewReader("text=x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if resp, _ := r.do(req); resp.StatusCode != http.StatusForbidden || len(r.commands) != 0 {
		t.Errorf("got %d and %d commands", resp.StatusCode, len(r.commands))
	}
}

// TestWhatOthersSayIsText: whoever said it, and wherever it stands.
func TestWhatOthersSayIsText(t *testing.T) {
	t.Parallel()
	const evil = `</textarea></title></code>"'><script>alert(1)</script><img src=x onerror=alert(2)><hx-partial hx-target="body">`
	r := newRig(t)
	r.page = saidPage(1, transcript.StatusFailed, evil, evil)
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	r.page.Title, r.page.Messages[0].By, r.page.Messages[1].Model = evil, evil, evil
	r.page.Awaiting = []events.CallID{call}
	text := func() []transcript.Part {
		return []transcript.Part{{Part: events.Text(evil)}, {Part: events.Part{Type: events.PartFile, Name: evil, MediaType: evil, Blob: events.DigestOf(nil)}}, {Part: events.Part{Type: events.PartSource, URL: "javascript:" + evil, Title: evil}}, {Part: events.Part{Type: events.PartData, JSON: evil}}}
	}
	r.page.Messages[1].Parts = append(text(), transcript.Part{Part: events.Part{Type: events.PartReasoning, Text: evil}},
		transcript.Part{Part: events.Part{Type: events.PartCall, Name: evil, Arguments: evil}, Call: &transcript.Call{
			ID: call, Status: transcript.CallApproval, Approval: &transcript.Approval{Arguments: events.Digest(evil), Review: &events.Review{Reason: evil}}, Result: text(),
			Artifacts: []events.Artifact{{Title: evil, Type: evil, Digest: events.DigestOf(nil)}},
		}},
		transcript.Part{Part: events.Part{Type: events.PartCall, Name: evil}, Call: &transcript.Call{
			ID: call, Status: transcript.CallAsking, Question: &transcript.Question{Questions: []events.Question{{ID: evil, Header: evil, Text: evil, Options: []events.Option{{Label: evil, Description: evil}}}}},
		}})
	r.page.Waiting = []transcript.Waiting{{Input: evil, Text: evil, Mode: events.SendMode(evil)}}
	r.page.Marks = []transcript.Mark{{Kind: transcript.MarkCompacted, Summary: evil}, {Kind: transcript.MarkFailed, Message: evil, After: 2}}
	r.page.Turns = []transcript.Turn{{Turn: 1, First: 1, Last: 2, Status: transcript.TurnFailed, Message: evil}}
	r.answers[listing.QueryChats] = listing.Chats{Chats: []listing.Chat{{Chat: "c1", Title: evil, Agent: evil, Model: evil, At: 1}}}
	r.answers[listing.QueryOpen] = listing.Open{Open: []listing.Waiting{{Chat: "c1", Title: evil, Text: evil, Kind: listing.OpenKind(evil)}}}
	r.answers[listing.QuerySearch] = listing.Hits{Hits: []listing.Hit{{Chat: "c1", Title: evil, By: evil, Snippet: []listing.Piece{{Text: evil, Found: true}, {Text: evil}}}}}
	for _, path := range []string{"/", "/?q=" + url.QueryEscape(evil), "/c/c1", "/login?next=" + url.QueryEscape(evil)} {
		_, body := r.get(path)
		for _, tag := range []string{"<script>alert", "<img", `<hx-partial hx-target="body"`, `href="javascript`} {
			if strings.Contains(body, tag) {
				at := strings.Index(body, tag)
				t.Errorf("%s has %s in it: …%s…", path, tag, body[max(0, at-80):min(len(body), at+80)])
			}
		}
		if !strings.Contains(body, "&lt;script&gt;alert(1)") {
			t.Errorf("%s does not say it at all", path)
		}
	}
}

func TestFormsAreCommands(t *testing.T) {
	t.Parallel()
	id := "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	call := events.CallID{Turn: 1, Step: 2, Ordinal: 3}
	text := []events.Part{events.Text("a\nb")}
	for _, tt := range []struct {
		verb, form string
		then       protocol.Body
	}{
		{"send", "text=a%0D%0Ab&mode=steer", protocol.Send{V: 1, Parts: text, Mode: events.ModeSteer}},
		{"interrupt", "turn=4", protocol.Interrupt{V: 1, Turn: 4}},
		{"rename", "title=x", protocol.Rename{V: 1, Title: "x"}},
		{"archive", "", protocol.Archive{V: 1}},
		{"unarchive", "", protocol.Unarchive{V: 1}},
		{"withdraw", "input=x", protocol.Withdraw{V: 1, Input: "x"}},
		{"promote", "input=x&interrupt=1", protocol.Promote{V: 1, Input: "x", Interrupt: true}},
		{"edit-input", "input=x&text=a%0Ab", protocol.EditInput{V: 1, Input: "x", Parts: text}},
		{"retry", "turn=2", protocol.Retry{V: 1, Turn: 2}},
		{"continue", "turn=2", protocol.Continue{V: 1, Turn: 2}},
		{"edit", "turn=2&input=x&text=a%0Ab", protocol.Edit{V: 1, Turn: 2, Input: "x", Parts: text}},
		{"regenerate", "turn=2", protocol.Regenerate{V: 1, Turn: 2}},
		{"select-branch", "turn=2", protocol.SelectBranch{V: 1, Turn: 2}},
		{"compact", "", protocol.Compact{V: 1}},
		{"clear", "", protocol.Clear{V: 1}},
		{"restore", "", protocol.Restore{V: 1}},
		{"set-mode", "approval=ask&plan=true", protocol.SetMode{V: 1, Approval: events.ApprovalAsk, Plan: new(true)}},
		{"approve", "call=1.2.3&decision=approve&digest=d", protocol.Approve{V: 1, Call: call, Decision: protocol.DecideApprove, Arguments: "d"}},
		{"approve", "call=1.2.3&decision=approve&args={}", protocol.Approve{V: 1, Call: call, Decision: protocol.DecideApprove, Args: []byte("{}")}},
		{"approve", "call=1.2.3&decision=deny&reason=no&stop=1", protocol.Approve{V: 1, Call: call, Decision: protocol.DecideDeny, Reason: "no", Stop: true}},
		{"answer", "call=1.2.3&question=a&option:a=x&question=b&option:b=y&words:b=z", protocol.Answer{V: 1, Call: call, Answers: []events.Answer{{Question: "a", Text: "x"}, {Question: "b", Text: "z"}}}},
		{"answer", "call=1.2.3&hold=true", protocol.Answer{V: 1, Call: call, Hold: new(true)}},
		{"extend", "turn=2&unit=money&add=0.5", protocol.Extend{V: 1, Turn: 2, Add: events.Budget{CostMicros: 500_000}}},
		{"extend", "turn=2&unit=tokens&add=100&chat=1", protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 100}}},
		{"fork", "rev=7", protocol.Fork{V: 1, Chat: "c1", Rev: 7}},
	} {
		t.Run(tt.verb+" "+tt.form, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			form, err := url.ParseQuery(tt.form)
			if err != nil {
				t.Fatal(err)
			}
			form.Set("id", id)
			resp, body := r.post("/c/c1/"+tt.verb, form)
			if resp.StatusCode != http.StatusSeeOther {
				t.Fatalf("got %d: %s", resp.StatusCode, body)
			}
			to := "c1"
			if tt.verb == "fork" {
				to = id
			}
			want := []sentCommand{{Key: events.Key{Tenant: "acme", Chat: to}, ID: id, Body: tt.then}}
			if diff := cmp.Diff(want, r.commands); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if at := resp.Header.Get("Location"); at != "/c/"+to {
				t.Errorf("leads to %s", at)
			}
		})
	}
}

func TestAFormThatSaysNothingUsefulIsRefusedKindly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for verb, form := range map[string]string{
		"approve": "call=1.2.3&decision=approve&args={", "answer": "call=1.2.3&question=a", "extend": "add=nan", "interrupt": "turn=x",
		"erase": "", "import": "", "client-result": "",
	} {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		if resp, body := r.post("/c/c1/"+verb, values); resp.StatusCode < 400 || resp.StatusCode >= 500 || !strings.Contains(body, "<h1>") {
			t.Errorf("%s %s: got %d: %s", verb, form, resp.StatusCode, body)
		}
	}
	if len(r.commands) != 0 {
		t.Errorf("commands were sent: %v", r.commands)
	}
}

func TestANewChatThatIsSentTwiceIsOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	form := url.Values{"id": {"01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "text": {"hello"}}
	r.post("/chats", form)
	r.post("/chats", form)
	if len(r.commands) != 4 || r.commands[0].ID != r.commands[2].ID || r.commands[1].ID != r.commands[3].ID || r.commands[0].ID == r.commands[1].ID {
		t.Errorf("got %+v", r.commands)
	}
}

func TestTroubleIsToldInWordsForPeople(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		no     error
		status int
		words  string
	}{
		{gateway.ErrUnavailable, http.StatusServiceUnavailable, "Nothing was sent."},
		{gateway.ErrUndecided, http.StatusAccepted, "There is no need to send it again."},
		{protocol.ErrStorageFull, http.StatusInsufficientStorage, "Nothing was stored."},
		{&protocol.RefusedError{Code: events.CodeErased, Detail: "gone"}, http.StatusGone, "This chat was erased"},
		{http.ErrBodyNotAllowed, http.StatusInternalServerError, "Something went wrong here"},
	} {
		r := newRig(t)
		r.no = tt.no
		if resp, body := r.post("/c/c1/send", url.Values{"text": {"x"}}); resp.StatusCode != tt.status || !strings.Contains(body, tt.words) {
			t.Errorf("%v: got %d: %s", tt.no, resp.StatusCode, body)
		}
	}
}
