package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// digestIn is what a prompt shows of a skill: its text lies in the object store.
func digestIn(text string) events.Digest { return events.DigestOf([]byte(text)) }

func skill(name, text string, files ...events.SkillFile) events.Skill {
	return events.Skill{Name: name, Description: "About " + name + ".", Digest: digestIn(text), Bytes: int64(len(text)), Files: files}
}

// skilled is a chat whose tenant has the skills csv and pdf.
func skilled(t *testing.T) *story {
	t.Helper()
	s := begin(t)
	s.skills = []events.Skill{
		skill("csv", "csv text"),
		skill("pdf", "pdf text",
			events.SkillFile{Path: "cut.md", Digest: digestIn("cut"), Bytes: 3, Whole: 99},
			events.SkillFile{Path: "logo.png", Bytes: 12},
			events.SkillFile{Path: "scripts/fill.py", Digest: digestIn("fill"), Bytes: 4}),
	}
	return s
}

// activated are the skills that events activate, in order.
func activated(list []events.Event) []string {
	var names []string
	for _, e := range list {
		if e, ok := e.(events.SkillActivated); ok {
			names = append(names, e.Step.String()+" "+e.Skill)
		}
	}
	return names
}

func (s *story) activates(list []events.Event, want ...string) {
	s.t.Helper()
	if got := activated(list); !slices.Equal(got, want) {
		s.t.Errorf("activated %q, want %q", got, want)
	}
}

// showsSkill is how often the open attempt's model reads a text.
func (s *story) showsSkill(text string) int {
	return strings.Count(s.shown(), string(digestIn(text)))
}

func TestS12_SkillsAreListedByNameAndRecorded(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{System: "Be brief."}})
	list := s.send("hello")
	body := find[events.TurnStarted](t, list).Settings.Body
	if !slices.EqualFunc(body.Skills, s.skills, func(a, b events.Skill) bool { return a.Name == b.Name && a.Digest == b.Digest }) {
		t.Errorf("recorded are %+v", body.Skills)
	}
	r := chat.Prompt(s.state)
	if !strings.HasPrefix(r.System, "Be brief.\n\n# Skills\n") || !strings.HasSuffix(r.System, "\n- csv: About csv.\n- pdf: About pdf.") {
		t.Errorf("the model is told %q", r.System)
	}
	if strings.Contains(string(r.Canonical()), string(digestIn("pdf text"))) {
		t.Error("it reads a skill that nobody asked for")
	}
	if !slices.ContainsFunc(body.Tools, func(tool events.Tool) bool { return tool.Name == chat.ToolViewSkill && tool.ReadOnly }) {
		t.Error("and cannot view one")
	}
	s.answer(events.Text("hi"))
	if again := find[events.TurnStarted](t, s.send("more")); again.Settings.Body != nil {
		t.Error("what is known is written once more")
	}
}

func TestS12_WithoutSkillsNothingIsSaidOfThem(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]events.Settings{
		"none is named":                          {Skills: &[]string{}},
		"nobody has one of the name":             {Skills: &[]string{"xls"}},
		"tools are named, and view_skill is not": {Tools: &[]string{"look"}},
		"no tool is wanted":                      {Tools: &[]string{}},
	} {
		s := skilled(t)
		s.command(protocol.Configure{V: 1, Settings: settings})
		s.activates(s.send("use $pdf"))
		if of, _ := s.state.Effective(); len(of.Skills) > 0 {
			t.Errorf("%s: offered %+v", name, of.Skills)
		}
		r := chat.Prompt(s.state)
		if r.System != "" || slices.ContainsFunc(r.Tools, func(tool model.Tool) bool { return tool.Name == chat.ToolViewSkill }) {
			t.Errorf("%s: the model is told %q, with %+v", name, r.System, r.Tools)
		}
	}
	s := begin(t) // a tenant that has none
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Tools: &[]string{"look", chat.ToolViewSkill}}})
	s.send("use $pdf")
	if r := chat.Prompt(s.state); r.System != "" || len(r.Tools) != 1 {
		t.Errorf("the model is told %q, with %+v", r.System, r.Tools)
	}
}

func TestS12_SettingsChooseSkills(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]events.Settings{
		"named":                    {Skills: &[]string{"xls", "pdf"}},
		"named, without any tools": {Skills: &[]string{"pdf"}, Tools: &[]string{}},
	} {
		s := skilled(t)
		s.command(protocol.Configure{V: 1, Settings: settings})
		s.activates(s.send("use $csv and $pdf"), "1.1 pdf")
		of, _ := s.state.Effective()
		if len(of.Skills) != 1 || of.Skills[0].Name != "pdf" {
			t.Errorf("%s: offered %+v", name, of.Skills)
		}
	}
	s := skilled(t)
	_, list := s.command(protocol.Configure{V: 1, Settings: events.Settings{Skills: &[]string{"../etc"}}})
	if no := find[events.CommandRejected](t, list); no.Code != events.CodeInvalidSettings {
		t.Errorf("rejected as %+v", no)
	}
}

func TestS12_ViewSkillShowsATextByItsDigest(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]struct {
		text      string
		truncated bool
	}{
		`{"name":"pdf"}`:                              {text: "pdf text"},
		`{"name":"$csv","path":""}`:                   {text: "csv text"},
		`{"name":"pdf","path":"SKILL.md"}`:            {text: "pdf text"},
		`{"name":"pdf","path":"scripts/fill.py"}`:     {text: "fill"},
		`{"name":" pdf ","path":"./scripts/fill.py"}`: {text: "fill"},
		`{"name":"pdf","path":"cut.md"}`:              {text: "cut", truncated: true},
	} {
		s := skilled(t)
		s.send("go")
		m := s.ended(answerOf(call(chat.ToolViewSkill, arguments)), nil)
		d := chat.Handle(s.state, m, s.at, chat.Live{}) // what is live now is of no account
		wants(t, d.Events, "step.completed", "tool.completed", "step.requested")
		r := find[events.ToolCompleted](t, d.Events)
		if r.Status != events.ToolOK || len(r.Parts) != 1 || r.Parts[0].Blob != digestIn(want.text) || r.Parts[0].Bytes != int64(len(want.text)) || r.Truncated != want.truncated {
			t.Errorf("%s: result %+v", arguments, r)
		}
		if !slices.Equal(d.Shared, []events.Digest{digestIn(want.text)}) || !slices.Equal(events.ContentOf(r), d.Shared) {
			t.Errorf("%s: the chat is to have %v, and refers to %v", arguments, d.Shared, events.ContentOf(r))
		}
	}
	for arguments, says := range map[string]string{
		`{"name":"xls"}`:                    `no skill named "xls". There are: csv, pdf.`,
		`{"name":"csv","path":"a"}`:         "The skill csv has no files.",
		`{"name":"pdf","path":"../../etc"}`: `no file "../../etc". It has: cut.md, logo.png, scripts/fill.py.`,
		`{"name":"pdf","path":"logo.png"}`:  "logo.png is no text",
		`{}`:                                "name",
	} {
		s := skilled(t)
		s.send("go")
		r := find[events.ToolCompleted](t, s.answer(call(chat.ToolViewSkill, arguments)))
		if r.Status != events.ToolInvalid || !strings.Contains(r.Parts[0].Text, says) {
			t.Errorf("%s: result %+v", arguments, r)
		}
	}
}

func TestS12_ATurnKeepsTheSkillsItBeganWith(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("go")
	s.skills = []events.Skill{skill("pdf", "new text")}
	r := find[events.ToolCompleted](t, s.answer(call(chat.ToolViewSkill, `{"name":"pdf"}`), call(chat.ToolViewSkill, `{"name":"csv"}`)))
	if r.Parts[0].Blob != digestIn("pdf text") {
		t.Errorf("it is shown %+v", r.Parts)
	}
	s.sendAs(events.ModeSteer, "$pdf $csv")
	if list := s.answer(events.Text("ok")); find[events.SkillActivated](t, list).Digest != digestIn("pdf text") {
		t.Error("steered, it is given another one")
	}
	s.answer(events.Text("ok"))
	list := s.send("$csv, $pdf")
	s.activates(list, "2.1 pdf") // it is another one by now
	if e := find[events.SkillActivated](t, list); e.Digest != digestIn("new text") {
		t.Errorf("activated is %+v", e)
	}
}

func TestS12_ASkillNamedInATextIsReadFromThereOn(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	list := s.send("fill this in with $pdf, please")
	wants(t, list, "input.accepted", "turn.started", "skill.activated", "step.requested")
	e := find[events.SkillActivated](t, list)
	if e != (events.SkillActivated{Step: events.StepID{Turn: 1, Step: 1}, Skill: "pdf", Digest: digestIn("pdf text"), Bytes: 8}) {
		t.Errorf("recorded is %+v", e)
	}
	messages := chat.Prompt(s.state).Messages
	if n := len(messages); n != 2 || messages[0].Parts[1].Blob != e.Digest || messages[1].Parts[0].Text != "fill this in with $pdf, please" || !strings.Contains(messages[0].Parts[0].Text, `<skill name="pdf">`) {
		t.Errorf("the model reads %+v", messages)
	}
	s.answer(events.Text("ok"))
	s.activates(s.send("again with $pdf")) // it has read it
	if n := s.showsSkill("pdf text"); n != 1 {
		t.Errorf("it reads it %d times", n)
	}
}

func TestS12_SteeredAndQueuedInputsActivate(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("go")
	s.sendAs(events.ModeSteer, "use $csv")
	s.send("then $pdf")
	list := s.answer(call("look", "{}"))
	s.activates(list)
	list = s.bareResult(id(1, 1, 1), events.ToolOK, "found")
	wants(t, list, "tool.completed", "input.steered", "skill.activated", "step.requested")
	s.activates(list, "1.2 csv")
	if n := s.showsSkill("csv text"); n != 1 {
		t.Errorf("it is read %d times", n)
	}
	list = s.answer(events.Text("ok"))
	wants(t, list, "step.completed", "turn.completed", "turn.started", "skill.activated", "step.requested")
	s.activates(list, "2.1 pdf")
}

func TestS12_WhatActivatesASkill(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"$pdf":                      true,
		"use $pdf.":                 true,
		"($pdf)":                    true,
		"a\n$pdf\nb":                true,
		"请用$pdf处理":                  true,
		"“$pdf”":                    true,
		"$pdf-":                     true,
		"` $pdf":                    true, // no code: nothing ends it
		"`a` $pdf `b`":              true,
		"$pdfs":                     false,
		"$pdf_x":                    false,
		"$pdf-x":                    false,
		"$PDF":                      false,
		"a$pdf":                     false,
		"$$pdf":                     false,
		"\\$pdf":                    false,
		"$ pdf":                     false,
		"`echo $pdf`":               false,
		"``a ` $pdf``":              false,
		"```sh\necho $pdf\n```\n":   false,
		"${pdf}":                    false,
		"$5 and $HOME and $unknown": false,
	} {
		s := skilled(t)
		if got := len(activated(s.send(text))) == 1; got != want {
			t.Errorf("%q activates: %v, want %v", text, got, want)
		}
	}
	s := skilled(t)
	s.activates(s.send("$pdf $csv $pdf"), "1.1 pdf", "1.1 csv")
}

// Whoever may write to a chat may fill what it says with names, and with backticks. That
// is to cost what reading it costs: a square of it would keep an orchestrator for minutes.
func TestS12_AStormOfNamesIsReadOnce(t *testing.T) {
	t.Parallel()
	for name, storm := range map[string]func(n int) string{
		"names": func(n int) string {
			var b strings.Builder
			for b.Len() < events.MaxInlineBytes-16 {
				n++
				fmt.Fprintf(&b, "$n%x ", n)
			}
			return b.String()
		},
		"backticks": func(int) string {
			var b strings.Builder
			for n := 1; b.Len()+n < events.MaxInlineBytes-16; n++ {
				b.WriteString(strings.Repeat("`", n) + " ")
			}
			return b.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := skilled(t)
			s.send("hello")
			began := time.Now()
			for n := range 16 {
				s.sendAs(events.ModeSteer, storm(n<<20))
			}
			s.sendAs(events.ModeSteer, "$pdf")
			s.activates(s.answer(events.Text("hi")), "1.2 pdf")
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestS12_ActiveSkillsAreThoseOfTheBranch(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("hello")
	s.answer(events.Text("hi"))
	s.send("use $pdf")
	s.answer(events.Text("ok"))
	_, list := s.command(protocol.Edit{V: 1, Turn: 2, Parts: []events.Part{events.Text("use nothing")}})
	s.activates(list)
	if n := s.showsSkill("pdf text"); n != 0 {
		t.Errorf("another branch reads it %d times", n)
	}
	s.answer(events.Text("ok"))
	s.activates(s.send("now $pdf"), "4.1 pdf")
	s.answer(events.Text("ok"))
	_, list = s.command(protocol.Regenerate{V: 1, Turn: 2})
	s.activates(list, "5.1 pdf") // the same words, beside the turn that has it
	if n := s.showsSkill("pdf text"); n != 1 {
		t.Errorf("answered again it reads it %d times", n)
	}
}

func TestS12_ARetryIsShownTheSame(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("use $pdf")
	before := every[events.StepRequested](s)[0]
	s.fail(model.Error{Class: events.ClassInvalidRequest, Message: "no"})
	_, list := s.command(protocol.Retry{V: 1})
	s.activates(list)
	if again := find[events.StepRequested](t, list); again.Prompt != before.Prompt {
		t.Error("the model is asked something else")
	}
}

func TestS12_OneStepIsGivenSoManySkills(t *testing.T) {
	t.Parallel()
	s := begin(t)
	var names []string
	for n := range events.MaxActivatedSkills + 2 {
		name := fmt.Sprintf("s%02d", n)
		s.skills, names = append(s.skills, skill(name, name+" text")), append(names, "$"+name)
	}
	list := s.send(strings.Join(names, " "))
	if n := len(activated(list)); n != events.MaxActivatedSkills {
		t.Errorf("%d are activated", n)
	}
	s.answer(events.Text("ok"))
}

func TestS12_NoMoreSkillsAreOfferedThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for n := range events.MaxSkills + 3 {
		s.skills = append(s.skills, skill(fmt.Sprintf("s%03d", n), "x"))
	}
	s.send("a")
	if of, _ := s.state.Effective(); len(of.Skills) != events.MaxSkills {
		t.Errorf("%d are offered", len(of.Skills))
	}
	s = begin(t)
	for n := range 20 {
		big := skill(fmt.Sprintf("s%03d", n), "x")
		big.Description = strings.Repeat("<", 10_000)
		s.skills = append(s.skills, big)
	}
	s.send("a")
	of, _ := s.state.Effective()
	total := 0
	for _, kept := range of.Skills {
		total += chat.SkillBytes(kept)
	}
	if total > events.MaxSkillsBytes || len(of.Skills) != 6 {
		t.Errorf("%d are offered, of %d bytes", len(of.Skills), total)
	}
}

func TestS12_AChildHasTheSkillsOfItsParent(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Skills: &[]string{"pdf"}, Tools: &[]string{chat.ToolDelegate}}})
	s.send("go")
	s.answer(call(chat.ToolDelegate, `{"task":"fill it in with $pdf"}`))
	birth, ok := s.state.BirthOf(id(1, 1, 1))
	if !ok || birth.Settings.Skills == nil || !slices.Equal(*birth.Settings.Skills, []string{"pdf"}) {
		t.Fatalf("the child is %+v", birth)
	}
	l := live()
	l.Skills = s.skills
	d := chat.Handle(chat.State{}, birth, s.at, l)
	if got := activated(d.Events); !slices.Equal(got, []string{"1.1 pdf"}) {
		t.Errorf("in the child %q is activated", got)
	}
}

func TestS10_4_ActiveSkillsSurviveASummary(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("use $pdf " + strings.Repeat("q", 400))
	s.answer(events.Text(strings.Repeat("a", 400)))
	for range 3 {
		s.send(strings.Repeat("q", 400))
		s.answer(events.Text(strings.Repeat("a", 400)))
	}
	for round := range 2 {
		s.command(protocol.Compact{V: 1})
		if !s.summing() {
			t.Fatal("no summary is asked for")
		}
		s.answer(events.Text("NOTES"))
		s.send(fmt.Sprintf("and now, %d times? ", round+1) + strings.Repeat("q", 400))
		text := s.shown()
		if n := s.showsSkill("pdf text"); n != 1 {
			t.Errorf("behind summary %d it is read %d times", round+1, n)
		}
		if strings.Index(text, "NOTES") > strings.Index(text, string(digestIn("pdf text"))) {
			t.Error("it stands before the summary")
		}
		s.activates(s.answer(events.Text(strings.Repeat("a", 400))))
		s.activates(s.send("$pdf once more"))
		s.answer(events.Text(strings.Repeat("a", 400)))
		s.send(strings.Repeat("q", 400))
		s.answer(events.Text(strings.Repeat("a", 400)))
	}
	again := chat.State{}
	for _, c := range s.log {
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		again = again.Apply(c, events.Hash(b))
	}
	if again.Hash() != s.state.Hash() {
		t.Error("folded again it is another state")
	}
}

func TestS10_4_WhatIsClearedTakesItsSkillsAlong(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.send("use $pdf")
	s.answer(events.Text("ok"))
	s.command(protocol.Clear{V: 1})
	s.activates(s.send("hello"))
	if n := s.showsSkill("pdf text"); n != 0 {
		t.Errorf("it is read %d times", n)
	}
	s.answer(events.Text("ok"))
	s.activates(s.send("with $pdf"), "3.1 pdf")
	s.answer(events.Text("ok"))
	s.command(protocol.Restore{V: 1})
	s.activates(s.send("$pdf"))
	if n := s.showsSkill("pdf text"); n != 2 { // where it was named each time
		t.Errorf("with all of it back it is read %d times", n)
	}
}

func TestS10_5_AModelMayViewASkillAgainThatWasLeftOut(t *testing.T) {
	t.Parallel()
	s := skilled(t)
	s.skills[0].Bytes = 400_000
	s.windows = map[string]chat.Window{"m": {Tokens: 1_000_000}}
	s.send("a")
	s.answer(call(chat.ToolViewSkill, `{"name":"csv"}`))
	s.answer(call(chat.ToolViewSkill, `{"name":"csv","path":"SKILL.md"}`))
	list := s.used(900_000, call("look", "{}"))
	list = append(list, s.bareResult(id(1, 3, 1), events.ToolOK, strings.Repeat("x", 30_000))...)
	if n := len(find[events.ContextCompacted](t, list).Masked); n == 0 {
		t.Fatal("nothing is left out")
	}
	if text := s.shown(); !strings.Contains(text, "The output of view_skill, about 100000 tokens, was left out to save room. If it is needed, call the tool again") {
		t.Errorf("the model reads %s", text)
	}
}
