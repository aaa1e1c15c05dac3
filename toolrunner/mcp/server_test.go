package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
)

func TestToolsAreOfferedUnderTheNameOfTheirServer(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"my fake": fakeServer(t, nil, nil)})
	m := r.tool("my_fake__echo").Manifest()
	if m.Description != "Says it again." || m.ReadOnly || m.Idempotent || m.Tool().Policy != events.PolicyAsk {
		t.Errorf("manifest: %+v; want a hint that nobody believes", m)
	}
	if !strings.Contains(string(m.Schema), "draft-07") {
		t.Errorf("schema: %s", m.Schema)
	}
}

func TestTheFileSaysWhatAToolMay(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{
		"trusted": fakeServer(t, nil, entry{"trust": true, "tools": map[string]any{"allow": []string{"e*", "no such"}, "deny": []string{"exit"}}}),
		"said": fakeServer(t, nil, entry{
			"tools": map[string]any{"allow": []string{"echo", "never"}}, "policy": "allow", "policies": map[string]string{"never": "review"},
			"idempotent": []string{"never"}, "timeout": "90s",
		}),
	})
	if m := r.tool("trusted__echo").Manifest(); !m.ReadOnly || m.Tool().Policy != events.PolicyAllow {
		t.Errorf("manifest: %+v; want that the hint is believed", m)
	}
	if m := r.tool("said__echo").Manifest(); m.ReadOnly || m.Policy != events.PolicyAllow || m.TimeoutMS != 90_000 {
		t.Errorf("manifest: %+v", m)
	}
	if m := r.tool("said__never").Manifest(); !m.Idempotent || m.Policy != events.PolicyReview {
		t.Errorf("manifest: %+v", m)
	}
	names := r.offered()
	slices.Sort(names)
	if want := []string{"said__echo", "said__never", "trusted__echo"}; !slices.Equal(names, want) {
		t.Errorf("on offer: %v, want %v", names, want)
	}
	if !strings.Contains(r.log.String(), "no such") {
		t.Error("nobody is told of a tool that is not there")
	}
}

func TestAServerMayHaveOtherToolsLater(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	r.wantText("fake__change", `{}`, "changed")
	r.tool("fake__new_one")
}

// A server that repeats a secret of ours does not get it into a chat. What is none by
// its name stays as it is.
func TestSecretsDoNotComeBack(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_TOKEN": "${TOKEN}", "FAKE_FOLDER": "${HOME}", "FAKE_API_KEY": "written as it is"}, nil)})
	r.wantText("fake__echo", `{"text":"value-of-TOKEN, value-of-HOME, written as it is"}`, "${TOKEN}, value-of-HOME, [FAKE_API_KEY] under key-1")
}

// Of thousands of tools some are offered, and the file chooses before they are counted.
func TestAServerWithThousandsOfTools(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{
		"all":  fakeServer(t, map[string]string{"FAKE_MANY": "5000"}, nil),
		"some": fakeServer(t, map[string]string{"FAKE_MANY": "5000"}, entry{"tools": entry{"allow": []string{"many4999", "echo"}}}),
	})
	r.tool("some__many4999")
	r.wantText("some__echo", `{"text":"hello"}`, "hello under key-1")
	r.wantText("all__echo", `{"text":"hello"}`, "hello under key-1")
	if n := len(r.offered()); n != 512+2 {
		t.Errorf("%d tools are offered", n)
	}
	if !strings.Contains(r.log.String(), "left_out=") {
		t.Error("nobody is told of the rest")
	}
}

// What is no tool is left out, and spoils none of the others.
func TestToolsThatAreNone(t *testing.T) {
	t.Parallel()
	odd := `,null,{"name":"","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}},` +
		`{"name":"text","inputSchema":"a text"},{"name":"cycle","inputSchema":{"type":"object","$ref":"#"}},{"name":"none"},` +
		`{"name":"huge","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}}`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tools"), []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_TOOLS": filepath.Join(folder, "tools")}, nil)})
	r.wantText("fake__echo", `{"text":"hello"}`, "hello under key-1")
	r.tool("fake__cycle")
	r.tool("fake__none")
	names := r.offered()
	for _, name := range []string{"fake__", "fake__huge"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is offered", name)
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is offered twice", name)
		}
	}
}

func TestAllThatAResultHolds(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	out, err := r.run("fake__odd", call(`{}`), patience)
	if err != nil {
		t.Fatal(err)
	}
	if want := "look:\n\n[demo://note]\na note"; out.Text != want {
		t.Errorf("text: %q, want %q", out.Text, want)
	}
	var got []string
	for _, p := range out.Parts {
		got = append(got, string(p.Type)+" "+p.Name+p.Title+p.URL+string(p.Content[:min(len(p.Content), 14)]))
	}
	want := []string{"image " + "image" + "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00", "file audioRIFF", "source a: the first (text/plain)file:///a.txt", "file x.bin\x1f\x8b\x08", `data {"degrees":21}`}
	if !slices.Equal(got, want) {
		t.Errorf("parts:\n%q\nwant\n%q", got, want)
	}
}

func TestWhatAServerAnswersIsKnown(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	if out, err := r.run("fake__wrong", call(`{}`), patience); err != nil || !out.IsError || out.Text != "there is no such city" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := r.run("fake__bad", call(`{}`), patience); err == nil || errors.Is(err, toolrunner.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "want a city") {
		t.Errorf("%v", err)
	}
}

func TestProgressIsHandedOn(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	var (
		mu   sync.Mutex
		said []string
	)
	c := call(`{}`)
	c.Progress = func(text string) { mu.Lock(); defer mu.Unlock(); said = append(said, text) }
	if _, err := r.run("fake__progress", c, patience); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, want := range []string{"1 of 3", "nearly"} {
		if i < len(said) && said[i] != want { // what comes with the answer may be too late
			t.Errorf("said: %q", said)
		}
	}
}

func TestACallThatIsCancelledIsCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_EFFECTS": effects}, nil)})
	tool := r.tool("fake__never")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := tool.Run(ctx, call(`{}`))
		done <- err
	}()
	r.wait("the call is there", func() bool { return len(lines(t, effects)) == 1 })
	cancel(toolrunner.ErrNotWanted)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r.wait("the server is told", func() bool { return slices.Contains(lines(t, effects), "cancelled") })
}

// A server asks in the middle of a call, and its question comes to the person whose
// call it is.
func TestAServerAsksAPerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []string // none: nobody can be asked
		want    string
	}{
		{"who says yes", []string{"Yes", "12"}, `{"action":"accept","content":{"count":12,"sure":true}}`},
		{"who says no", []string{"No", "Decline"}, `{"action":"accept","content":{"sure":false}}`},
		{"who declines", []string{"Decline", "12"}, `{"action":"decline"}`},
		{"nobody", nil, `{"action":"decline"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
			c := call(`{}`)
			if tt.answers != nil {
				c.Ask = func(_ context.Context, questions []events.Question) (reply toolrunner.Reply, err error) {
					for i, q := range questions {
						if q.Options[0].Label != "Decline" || len(q.Options) < events.MinOptions || !strings.Contains(q.Text, "May I?") {
							t.Errorf("question: %+v", q)
						}
						reply.Answers = append(reply.Answers, events.Answer{Question: q.ID, Text: tt.answers[i]})
					}
					return reply, nil
				}
			}
			out, err := r.run("fake__ask", c, patience)
			var got, want any
			if err != nil || json.Unmarshal([]byte(out.Text), &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if a, b := marshal(got), marshal(want); a != b {
				t.Errorf("the server is told %s, want %s", a, b)
			}
		})
	}
}

// Nobody is asked on behalf of another.
func TestAQuestionThatMayBeAnyonesIsDeclined(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects")
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, map[string]string{"FAKE_EFFECTS": effects}, nil)})
	tool := r.tool("fake__never")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = tool.Run(ctx, call(`{}`)) }()
	r.wait("the other call is there", func() bool { return len(lines(t, effects)) == 1 })
	c := call(`{}`)
	c.Ask = func(context.Context, []events.Question) (toolrunner.Reply, error) {
		t.Error("somebody is asked")
		return toolrunner.Reply{}, toolrunner.ErrCannotAsk
	}
	if out, err := r.run("fake__ask", c, patience); err != nil || out.Text != `{"action":"decline"}` {
		t.Errorf("%+v, %v", out, err)
	}
}

// A server may still be at a call that was given up, and ask for it: nobody of another
// chat is shown that.
func TestAQuestionAfterACallWasGivenUpIsNotForAnotherChat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, chat, want string }{
		{"another chat", "c2", `{"action":"decline"}`},
		{"the same chat", "c1", `{"action":"accept","content":{"count":12,"sure":true}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
			if _, err := r.run("fake__never", call(`{}`), 100*time.Millisecond); err == nil {
				t.Fatal("it was not given up")
			}
			c := call(`{}`)
			c.Chat.Chat = tt.chat
			c.Ask = func(_ context.Context, questions []events.Question) (toolrunner.Reply, error) {
				if tt.chat != "c1" {
					t.Error("somebody is asked who has nothing to do with it")
				}
				return toolrunner.Reply{Answers: []events.Answer{{Question: questions[0].ID, Text: "Yes"}, {Question: questions[1].ID, Text: "12"}}}, nil
			}
			out, err := r.run("fake__ask", c, patience)
			var got, want any
			if err != nil || json.Unmarshal([]byte(out.Text), &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if a, b := marshal(got), marshal(want); a != b {
				t.Errorf("the server is told %s, want %s", a, b)
			}
		})
	}
}

// Of very many questions at once most are declined, and do not wait in line.
func TestAStormOfQuestionsIsDeclined(t *testing.T) {
	t.Parallel()
	r := serve(t, quick(), map[string]entry{"fake": fakeServer(t, nil, nil)})
	c := call(`{"questions":300,"answers":200}`)
	c.Ask = func(ctx context.Context, _ []events.Question) (toolrunner.Reply, error) {
		<-ctx.Done() // nobody answers
		return toolrunner.Reply{}, context.Cause(ctx)
	}
	if out, err := r.run("fake__storm", c, patience); err != nil || out.Text != `{"action":"decline"}` {
		t.Errorf("%+v, %v", out, err)
	}
}

func marshal(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
