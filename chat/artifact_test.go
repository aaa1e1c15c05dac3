package chat_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// keeps is a call that wants content kept under a title.
func keeps(t *testing.T, title, media, content string) events.Part {
	t.Helper()
	b, err := json.Marshal(map[string]string{"title": title, "type": media, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	return call(chat.ToolCreateArtifact, string(b))
}

// creating is a story of a chat whose model may keep artifacts, with its first input
// said.
func creating(t *testing.T) *story {
	t.Helper()
	s := begin(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Tools: &[]string{"look", chat.ToolCreateArtifact}}})
	s.send("a")
	return s
}

// kept are the artifacts in a list of events.
func kept(list []events.Event) []events.Artifact {
	var all []events.Artifact
	for _, e := range list {
		if e, ok := e.(events.ToolCompleted); ok {
			all = append(all, e.Artifacts...)
		}
	}
	return all
}

func answerOf(parts ...events.Part) *model.Answer {
	return &model.Answer{Parts: parts, Stop: events.StopCalls}
}

func artifactOf(title string, version int, media, content string) events.Artifact {
	return events.Artifact{Title: title, Version: version, Type: media, Digest: events.DigestOf([]byte(content)), Bytes: int64(len(content))}
}

func TestS12_AnArtifactIsKeptRightAfterTheCall(t *testing.T) {
	t.Parallel()
	s := creating(t)
	step, attempt, _ := s.state.OpenAttempt()
	m := s.ended(answerOf(keeps(t, " The\n plan", "text/markdown", "# Plan <&>\x00"), call("look", "{}")), nil)
	d := chat.Handle(s.state, m, s.at, live())
	wants(t, d.Events, "step.completed", "tool.completed", "tool.requested")
	content := "# Plan <&>" + events.RepairText("\x00")
	want := artifactOf("The plan", 1, "text/markdown", content)
	if got := kept(d.Events); !slices.Equal(got, []events.Artifact{want}) {
		t.Errorf("step %s-%d keeps %+v, want %+v", step, attempt, got, want)
	}
	if len(d.Large) != 1 || d.Large[0].Digest != want.Digest || string(d.Large[0].Bytes) != content {
		t.Errorf("stored is %+v", d.Large)
	}
	r := find[events.ToolCompleted](t, d.Events)
	if r.Status != events.ToolOK || r.IsError || r.Runner != "" || !strings.Contains(r.Parts[0].Text, `Version 1 of "The plan"`) {
		t.Errorf("result %+v", r)
	}
	if refers := events.ContentOf(r); !slices.Equal(refers, []events.Digest{want.Digest}) {
		t.Errorf("the result refers to %v: an export, a fork and an erasure need its content", refers)
	}
}

func TestS12_ArtifactsOfATitleAreVersions(t *testing.T) {
	t.Parallel()
	s := creating(t)
	list := s.answer(keeps(t, "a", "", "one"), keeps(t, "b", "", "one"), keeps(t, "a", "", "two"))
	s.answer(events.Text("done"))
	s.send("again")
	list = append(list, s.answer(keeps(t, "a", "image/svg+xml", "three"))...)
	want := []events.Artifact{
		artifactOf("a", 1, "text/plain", "one"), artifactOf("b", 1, "text/plain", "one"), artifactOf("a", 2, "text/plain", "two"),
		artifactOf("a", 3, "image/svg+xml", "three"),
	}
	if got := kept(list); !slices.Equal(got, want) {
		t.Errorf("kept %+v, want %+v", got, want)
	}
	fork := s.state.Inherit()
	m := s.ended(answerOf(keeps(t, "a", "", "four")), nil)
	if got := kept(chat.Handle(fork, m, s.at, live()).Events); len(got) != 1 || got[0].Version != 4 {
		t.Errorf("a fork goes on with %+v", got)
	}
}

func TestS12_WhatIsNoArtifact(t *testing.T) {
	t.Parallel()
	for says, p := range map[string]events.Part{
		"title is blank":                   keeps(t, " \u200b", "", "x"),
		"at most 200 are allowed":          keeps(t, strings.Repeat("é", 201), "", "x"),
		"content is blank":                 keeps(t, "a", "", " \n"),
		"media type such as text/markdown": keeps(t, "a", "markdown", "x"),
		"schema":                           call(chat.ToolCreateArtifact, `{"title":"a"}`),
	} {
		s := creating(t)
		list := s.answer(p)
		wants(t, list, "step.completed", "tool.completed", "step.requested")
		if r := find[events.ToolCompleted](t, list); r.Status != events.ToolInvalid || len(r.Artifacts) > 0 || !strings.Contains(r.Parts[0].Text, says) {
			t.Errorf("result %+v, want invalid with %q", r, says)
		}
	}
}

func TestS12_SoManyArtifactsAreKept(t *testing.T) {
	t.Parallel()
	s := creating(t)
	var calls []events.Part
	for i := range events.MaxArtifacts - 1 {
		calls = append(calls, keeps(t, fmt.Sprint(i), "", "x"))
	}
	s.answer(calls...)
	if got := kept(s.answer(keeps(t, "one", "", "x"), keeps(t, "more", "", "x"), keeps(t, "one", "", "y"))); len(got) != 2 || got[1].Version != 2 {
		t.Errorf("kept %+v: no more of them, but another version", got)
	}
	all := every[events.ToolCompleted](s)
	if no := all[len(all)-2]; no.Status != events.ToolInvalid || !strings.Contains(no.Parts[0].Text, "128 artifacts") {
		t.Errorf("result %+v", no)
	}
}

// A large one is no part of its commit, nor are the arguments that brought it.
func TestS12_LargeArtifactsLieApart(t *testing.T) {
	t.Parallel()
	s := creating(t)
	content := strings.Repeat("much ", events.MaxInlineBytes/4)
	d := chat.Handle(s.state, s.ended(answerOf(keeps(t, "a", "", content)), nil), s.at, live())
	stored := map[events.Digest]int{}
	for _, c := range d.Large {
		stored[c.Digest] = len(c.Bytes)
	}
	if n := stored[events.DigestOf([]byte(content))]; n != len(content) || len(stored) != 2 {
		t.Errorf("stored are %v", stored)
	}
	s.commit(s.ended(answerOf(keeps(t, "a", "", content)), nil), d.Events)
	s.answer(events.Text("done"))
}

// Everybody may keep something: nobody is asked about it, and who only plans can.
func TestS12_NobodyIsAskedAboutAnArtifact(t *testing.T) {
	t.Parallel()
	s := creating(t)
	s.command(protocol.SetMode{V: 1, Approval: events.ApprovalAsk})
	if got := kept(s.answer(keeps(t, "a", "", "x"))); len(got) != 1 {
		t.Errorf("kept %+v", got)
	}
	plans := planned(t)
	if got := kept(plans.answer(keeps(t, "a", "", "x"))); len(got) != 1 {
		t.Errorf("a plan is not kept: %+v", got)
	}
	by := begin(t)
	by.send("a")
	if slices.Contains(toolNames(chat.Prompt(by.state)), chat.ToolCreateArtifact) {
		t.Error("a chat that does not name the tool has it")
	}
}

func TestALogWithWhatIsNoArtifactIsRefused(t *testing.T) {
	t.Parallel()
	s := creating(t)
	s.answer(call("look", "{}"))
	for says, with := range map[string]func(*events.Artifact){
		"where version 1 should be":     func(a *events.Artifact) { a.Version = 2 },
		"is blank":                      func(a *events.Artifact) { a.Title = " " },
		"at most 200 are allowed":       func(a *events.Artifact) { a.Title = strings.Repeat("x", 201) },
		"is not on one line":            func(a *events.Artifact) { a.Title = "a\nb" },
		`"a\x1b[2J" is not on one line`: func(a *events.Artifact) { a.Title = "a\x1b[2J" },
		`of type "a\nb"`:                func(a *events.Artifact) { a.Type = "a\nb" },
		"has no digest":                 func(a *events.Artifact) { a.Digest = "sha256:../../x" },
		"has 0 bytes":                   func(a *events.Artifact) { a.Bytes = 0 },
	} {
		a := artifactOf("a", 1, "text/plain", "x")
		with(&a)
		e := events.ToolCompleted{Call: id(1, 1, 1), Status: events.ToolOK, Artifacts: []events.Artifact{a}}
		c := events.Commit{Key: key, Rev: s.state.Rev() + 1, At: noon, Events: []events.Event{e}}
		if got := s.state.Apply(c, "").Wrong(); !strings.Contains(got, says) {
			t.Errorf("wrong is %q, want %q", got, says)
		}
	}
}

// makes reports that a runner's call was successful and made those.
func (s *story) makes(call events.CallID, list ...protocol.Artifact) []events.Event {
	s.t.Helper()
	s.tell(claim(call, "claim-of-"+call.String(), 1))
	return s.tell(chat.Result{Result: protocol.Result{
		V: 1, Call: call, Runner: "r1", Status: events.ToolOK, Parts: []events.Part{events.Text("done")}, Artifacts: list,
	}})
}

func madeOf(title, media, content string) protocol.Artifact {
	return protocol.Artifact{Title: title, Type: media, Digest: events.DigestOf([]byte(content)), Bytes: int64(len(content))}
}

func TestS12_WhatARunnersCallMadeIsKeptWithItsResult(t *testing.T) {
	t.Parallel()
	s := creating(t)
	s.answer(keeps(t, "a", "", "one"), call("look", "{}"))
	list := s.makes(id(1, 1, 2), madeOf(" a\n", "text/csv", "two"), madeOf("src/../a", "", "three"), madeOf("a", "text/csv", "four"))
	want := []events.Artifact{
		artifactOf("a", 2, "text/csv", "two"), artifactOf("src/../a", 1, "application/octet-stream", "three"), artifactOf("a", 3, "text/csv", "four"),
	}
	r := find[events.ToolCompleted](t, list)
	if !slices.Equal(r.Artifacts, want) || len(r.Parts) != 1 {
		t.Errorf("kept %+v with %+v, want %+v", r.Artifacts, r.Parts, want)
	}
	if refers := events.ContentOf(r); len(refers) != 3 {
		t.Errorf("the result refers to %v", refers)
	}
	if got := kept(s.answer(keeps(t, "a", "", "five"))); len(got) != 1 || got[0].Version != 4 {
		t.Errorf("the model goes on with %+v", got)
	}
}

func TestS12_ARunnersResultStandsWithoutWhatIsNoArtifact(t *testing.T) {
	t.Parallel()
	for says, a := range map[string]protocol.Artifact{
		"title of an artifact is blank": madeOf(" \u200b", "", "x"),
		"at most 200 are allowed":       madeOf(strings.Repeat("é", 201), "", "x"),
		"is of type":                    madeOf("a", "text/html; charset=utf-8", "x"),
		"has no digest":                 {Title: "a", Digest: "sha256:1", Bytes: 1},
		"has 0 bytes":                   madeOf("a", "", ""),
		"at most 16777216 are allowed":  {Title: "a", Digest: events.DigestOf(nil), Bytes: 1 << 40},
	} {
		s := creating(t)
		s.answer(call("look", "{}"))
		r := find[events.ToolCompleted](t, s.makes(id(1, 1, 1), a, madeOf("good", "", "x")))
		if r.Status != events.ToolOK || len(r.Artifacts) != 1 || r.Artifacts[0].Title != "good" {
			t.Errorf("%s: result %+v", says, r)
		}
		if len(r.Parts) != 2 || !strings.Contains(r.Parts[0].Text, says) || r.Parts[1].Text != "done" {
			t.Errorf("%s: the model reads %+v", says, r.Parts)
		}
	}
}

func TestS12_ARunnersCallMakesOnlySoMuch(t *testing.T) {
	t.Parallel()
	s := creating(t)
	var calls []events.Part
	for range 9 {
		calls = append(calls, call("look", "{}"))
	}
	s.answer(calls...)
	for n := range 9 {
		var list []protocol.Artifact
		for i := range events.MaxArtifactsPerCall + 2 {
			list = append(list, madeOf(fmt.Sprintf("%d of %d %s", i, n, strings.Repeat("long", 40)), "", "x"))
		}
		the := id(1, 1, n+1)
		r := find[events.ToolCompleted](t, s.makes(the, list...))
		said := r.Parts[0].Text
		switch {
		case n == 8 && (len(r.Artifacts) > 0 || !strings.Contains(said, "128 artifacts") || len(said) > 2<<10):
			t.Errorf("the last one keeps %d, and says %q", len(r.Artifacts), said)
		case n < 8 && (len(r.Artifacts) != events.MaxArtifactsPerCall || !strings.HasPrefix(said, "[2 more artifacts are not kept")):
			t.Errorf("call %d keeps %d, and says %q", n, len(r.Artifacts), said)
		}
	}
}

func TestS12_OnlySuccessKeepsArtifacts(t *testing.T) {
	t.Parallel()
	for _, status := range []events.ToolStatus{events.ToolError, events.ToolUnknown, events.ToolTimeout, events.ToolDenied, "odd"} {
		s := creating(t)
		s.answer(call("look", "{}"))
		s.tell(claim(id(1, 1, 1), "claim", 1))
		r := find[events.ToolCompleted](t, s.tell(chat.Result{Result: protocol.Result{
			V: 1, Call: id(1, 1, 1), Runner: "r1", Status: status, Artifacts: []protocol.Artifact{madeOf("a", "", "x")},
		}}))
		if len(r.Artifacts) > 0 || len(r.Parts) > 0 {
			t.Errorf("%s keeps %+v", status, r)
		}
	}
}
