package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ToolAskUser is the tool by which a model asks a person.
const ToolAskUser = "ask_user"

const askUserDescription = `Ask the user one to three questions and wait for the answers. ` +
	`Use it when a decision is the user's to make and cannot be found out in another way. ` +
	`Each question has two or three options, the one you recommend first; the user may also answer in words of their own. ` +
	`It must be the only call of its step. If nobody answers in time, the first option of each question is taken.`

const askUserSchema = `{"type":"object","properties":{` +
	`"questions":{"type":"array","description":"One to three questions.","items":{"type":"object","properties":{` +
	`"id":{"type":"string","description":"Names the question among the others."},` +
	`"header":{"type":"string","description":"A few words that stand above the question."},` +
	`"text":{"type":"string","description":"The question."},` +
	`"options":{"type":"array","description":"Two or three answers, the recommended one first.","items":{"type":"object","properties":{` +
	`"label":{"type":"string","description":"The answer in a few words."},` +
	`"description":{"type":"string","description":"What follows from it."}},"required":["label","description"]}}},` +
	`"required":["id","header","text","options"]}},` +
	`"timeout_seconds":{"type":"number","description":"How long to wait: 60 to 240 seconds, 120 if left out."}},` +
	`"required":["questions"]}`

func askUser() builtIn {
	return builtIn{
		manifest: protocol.Manifest{
			Name: ToolAskUser, Description: askUserDescription, Schema: json.RawMessage(askUserSchema),
			ReadOnly: true, Exclusive: true, TimeoutMS: events.DefaultQuestionTimeout.Milliseconds(), Policy: events.PolicyAllow,
		},
		offered:  func(events.Settings) bool { return false },
		planning: true,
		begin:    ask,
	}
}

// question is what a call has asked a person.
type question struct {
	Rev       uint64            `json:"rev"` // of the commit that set the newest timer
	Questions []events.Question `json:"questions"`
	Timers    int               `json:"timers"` // how many were set; the newest has this number
	Due       events.Time       `json:"due"`
	Held      bool              `json:"held"`
	Ends      events.Time       `json:"ends"`    // when nobody waits any more, however often it is held; 0: nothing ends before it is
	LeftMS    int64             `json:"left_ms"` // of the time to answer, while it is held
}

// ask begins a call of ask_user, or says what is wrong with its arguments.
func ask(b *beginning, id events.CallID, arguments string) ([]events.Event, string) {
	var asked struct {
		Questions []events.Question `json:"questions"`
		Timeout   float64           `json:"timeout_seconds"`
	}
	if err := json.Unmarshal([]byte(arguments), &asked); err != nil {
		return nil, "The arguments cannot be read: " + err.Error()
	}
	questions, wrong := cleanQuestions(asked.Questions)
	if wrong != "" {
		return nil, wrong
	}
	timeout := time.Duration(asked.Timeout * float64(time.Second))
	if asked.Timeout < events.MinQuestionTimeout.Seconds() || asked.Timeout > events.MaxQuestionTimeout.Seconds() {
		timeout = events.DefaultQuestionTimeout
	}
	return []events.Event{events.QuestionAsked{
		Call: id, Questions: questions, TimeoutMS: timeout.Milliseconds(), Due: b.at.Add(timeout),
	}}, ""
}

// cleanQuestions are the questions as they are asked, or what is wrong with them.
func cleanQuestions(list []events.Question) ([]events.Question, string) {
	if n := len(list); n < 1 || n > events.MaxQuestions {
		return nil, fmt.Sprintf("There are %d questions; want 1 to %d.", n, events.MaxQuestions)
	}
	list = slices.Clone(list)
	for i := range list {
		if wrong := cleanQuestion(&list[i]); wrong != "" {
			return nil, fmt.Sprintf("Question %d: %s", i+1, wrong)
		}
		for _, before := range list[:i] {
			if before.ID == list[i].ID {
				return nil, fmt.Sprintf("Question %d: an earlier question has the same id.", i+1)
			}
		}
	}
	return list, ""
}

// cleanQuestion trims a question and leaves out options that are too many, or says
// what is wrong with it.
func cleanQuestion(q *events.Question) string {
	for _, field := range []struct {
		name string
		text *string
		most int
	}{
		{"id", &q.ID, events.MaxQuestionIDChars},
		{"header", &q.Header, events.MaxHeaderChars},
		{"text", &q.Text, events.MaxQuestionChars},
	} {
		if wrong := cleanText(field.text, field.most); wrong != "" {
			return "its " + field.name + " " + wrong
		}
	}
	if len(q.Options) < events.MinOptions {
		return fmt.Sprintf("it has %d options; want %d or %d.", len(q.Options), events.MinOptions, events.MaxOptions)
	}
	q.Options = slices.Clone(q.Options[:min(len(q.Options), events.MaxOptions)])
	for i := range q.Options {
		if wrong := cleanText(&q.Options[i].Label, events.MaxHeaderChars); wrong != "" {
			return fmt.Sprintf("the label of option %d %s", i+1, wrong)
		}
		if wrong := cleanText(&q.Options[i].Description, events.MaxOptionChars); wrong != "" {
			return fmt.Sprintf("the description of option %d %s", i+1, wrong)
		}
	}
	return ""
}

// cleanText repairs and trims a text, or says what is wrong with it.
func cleanText(text *string, most int) string {
	*text = strings.TrimSpace(events.RepairText(*text))
	switch n := utf8.RuneCountInString(*text); {
	case isBlank(*text):
		return "is blank."
	case n > most:
		return fmt.Sprintf("has %d characters; at most %d are allowed.", n, most)
	}
	return ""
}

// decideAnswer takes what a person says to a question that waits.
func decideAnswer(s State, b protocol.Answer, c Command, at events.Time) Decision {
	q, no := s.waitingQuestion(b.Call, c)
	if no != nil {
		return *no
	}
	switch {
	case (b.Hold == nil) == (len(b.Answers) == 0):
		return rejected(c, events.CodeBadCommand, "want either answers or hold", "")
	case b.Hold != nil:
		return s.hold(q, b, c, at)
	}
	answers, code, wrong := q.match(b.Answers)
	if wrong != "" {
		return rejected(c, code, wrong, "")
	}
	return facts(s.call(b.Call).answered(b.Call, answers, false, c.By)...)
}

// waitingQuestion is what the call asks and nobody has answered; else the decision
// that says no.
func (s State) waitingQuestion(id events.CallID, c Command) (*question, *Decision) {
	var no Decision
	switch asked := s.anyCall(id); {
	case asked == nil:
		no = rejected(c, events.CodeUnknownCall, fmt.Sprintf("there is no call %s", id), "")
	case !asked.open():
		no = rejected(c, events.CodeAlreadyResolved, fmt.Sprintf("call %s has its result", id), string(asked.Result.Status))
	case asked.Question == nil:
		no = rejected(c, events.CodeUnknownQuestion, fmt.Sprintf("call %s asks nobody", id), "")
	case s.Interrupting(): // of what waits then the runner is told to stop
		no = rejected(c, events.CodeAlreadyResolved, fmt.Sprintf("the turn of call %s is being interrupted", id), "interrupting")
	default:
		return asked.Question, nil
	}
	return nil, &no
}

// hold stops the clock of a question, or lets it run on. The end that the first hold
// gave it stays: who holds it again gets no more.
func (s State) hold(q *question, b protocol.Answer, c Command, at events.Time) Decision {
	if *b.Hold == q.Held {
		return noted(c, b.Call.Turn)
	}
	e := events.QuestionHeld{Call: b.Call, Held: *b.Hold, By: c.By}
	if e.Held {
		left := min(max(q.Due.Sub(at), 0), events.MaxQuestionTimeout)
		e.LeftMS, e.Due = left.Milliseconds(), at.Add(events.MaxHold)
	} else {
		e.LeftMS, e.Due = q.LeftMS, at.Add(time.Duration(q.LeftMS)*time.Millisecond)
	}
	if q.Ends != 0 {
		e.Due = min(e.Due, q.Ends)
	}
	return facts(e)
}

// named lists the ids of the questions.
func (q *question) named() string {
	ids := make([]string, len(q.Questions))
	for i := range q.Questions {
		ids[i] = fmt.Sprintf("%.80q", q.Questions[i].ID)
	}
	return strings.Join(ids, ", ")
}

// match puts answers into the order of their questions, or says why they are none.
func (q *question) match(given []events.Answer) ([]events.Answer, events.Code, string) {
	for i, a := range given {
		if !slices.ContainsFunc(q.Questions, func(asked events.Question) bool { return asked.ID == a.Question }) {
			return nil, events.CodeUnknownQuestion, fmt.Sprintf("answers[%d]: there is no question %.80q, the call asks %s", i, a.Question, q.named())
		}
	}
	answers := make([]events.Answer, 0, len(q.Questions))
	for _, asked := range q.Questions {
		i := slices.IndexFunc(given, func(a events.Answer) bool { return a.Question == asked.ID })
		if i < 0 {
			return nil, events.CodeInvalidAnswer, fmt.Sprintf("question %q has no answer", asked.ID)
		}
		a := given[i]
		if wrong := cleanText(&a.Text, events.MaxAnswerChars); wrong != "" {
			return nil, events.CodeInvalidAnswer, fmt.Sprintf("the answer to question %q %s", asked.ID, wrong)
		}
		answers = append(answers, a)
	}
	if len(given) > len(answers) {
		return nil, events.CodeInvalidAnswer, "a question has two answers"
	}
	return answers, "", ""
}

// firstOptions is what is taken when nobody answers.
func (q *question) firstOptions() []events.Answer {
	answers := make([]events.Answer, len(q.Questions))
	for i, asked := range q.Questions {
		answers[i] = events.Answer{Question: asked.ID, Text: asked.Options[0].Label}
	}
	return answers
}

// answered is the answer to a call's questions, and the call's result unless a runner
// goes on with it.
func (c *call) answered(id events.CallID, answers []events.Answer, expired bool, by string) []events.Event {
	e := events.QuestionAnswered{Call: id, Answers: answers, Expired: expired, By: by}
	if c.Requested != nil {
		return []events.Event{e}
	}
	note := ""
	if expired {
		note = "Nobody answered in time. The first option of each question was taken."
	}
	text, cut := toldAnswers(answers, note)
	return []events.Event{e, events.ToolCompleted{Call: id, Status: events.ToolOK, Parts: []events.Part{events.Text(text)}, Truncated: cut}}
}

// toldAnswers is what the model reads of answers. Where all of it would be more than
// a result may have, the middle of each long answer is left out, and the whole
// stands beside the result, in its [events.QuestionAnswered].
func toldAnswers(answers []events.Answer, note string) (text string, cut bool) {
	text = answersJSON(answers, note)
	for limit := events.MaxResultBytes / max(len(answers), 1); len(text) > events.MaxResultBytes; limit = limit * 3 / 4 {
		short := slices.Clone(answers)
		for i := range short {
			short[i].Text = events.CutMiddle(short[i].Text, limit, func(gone int) string {
				return fmt.Sprintf(" [%d bytes of the answer were cut out here] ", gone)
			})
		}
		text, cut = answersJSON(short, note), true
	}
	return text, cut
}

func answersJSON(answers []events.Answer, note string) string {
	return jsonText(struct {
		Answers []events.Answer `json:"answers"`
		Note    string          `json:"note,omitempty"`
	}{answers, note})
}

// expire takes the first options when the question's newest timer is due.
func (s State) expire(name protocol.TimerName) []events.Event {
	c := s.call(name.Call)
	if c == nil || !c.open() || c.Question == nil || c.Question.Timers != name.Number || s.Interrupting() {
		return nil
	}
	return c.answered(name.Call, c.Question.firstOptions(), true, "")
}

// misfitAsked says why a question cannot be folded, or nothing.
func (s State) misfitAsked(e events.QuestionAsked) string {
	if wrong := s.misfitCall(e.Call); wrong != "" {
		return wrong
	}
	return unanswerable(e.Questions)
}

// unanswerable says why nobody could answer the questions, nor time take their
// first options.
func unanswerable(questions []events.Question) string {
	for _, q := range questions {
		if len(q.Options) == 0 {
			return fmt.Sprintf("question %.40q has no options", q.ID)
		}
	}
	return ""
}

// misfitQuestion says why what happens to a question cannot be folded, or nothing.
func (s State) misfitQuestion(id events.CallID) string {
	if wrong := s.misfitCall(id); wrong != "" {
		return wrong
	}
	if s.call(id).Question == nil {
		return fmt.Sprintf("call %s asks nobody", id)
	}
	return ""
}

func (s *State) askQuestion(e events.QuestionAsked) {
	c := s.call(e.Call)
	q := &question{Rev: s.f.Rev, Questions: e.Questions, Timers: c.timersSet() + 1, Due: e.Due}
	if c.Requested != nil {
		q.Ends = c.askedUntil()
	}
	c.Question = q
}

func (s *State) holdQuestion(e events.QuestionHeld) {
	c := s.call(e.Call)
	q := *c.Question
	q.Rev, q.Timers, q.Due, q.Held, q.LeftMS = s.f.Rev, q.Timers+1, e.Due, e.Held, e.LeftMS
	if q.Ends == 0 {
		q.Ends = e.Due
	}
	c.Question = &q
}

// owedQuestion is the timer of a question that waits.
func (s State) owedQuestion(id events.CallID, q *question) protocol.Work {
	name := protocol.TimerName{Kind: protocol.TimerQuestion, Call: id, Number: q.Timers}
	return s.timer(name, q.Rev, q.Due)
}

// anyCall is a call of any turn, nil if there was none.
func (s State) anyCall(id events.CallID) *call {
	t := s.ended(id.Turn)
	if current := s.f.Current; current != nil && current.Number == id.Turn {
		t = current
	}
	if t == nil || id.Step < 1 || id.Step > len(t.Steps) {
		return nil
	}
	calls := t.Steps[id.Step-1].Calls
	if id.Ordinal < 1 || id.Ordinal > len(calls) {
		return nil
	}
	return &calls[id.Ordinal-1]
}

// interrupted is the result of a call that no runner had when its turn was
// interrupted.
func (c *call) interrupted(id events.CallID) events.ToolCompleted {
	switch {
	case c.Question != nil:
		return settledByRule(id, events.ToolCancelled, "The turn was interrupted before anybody answered.")
	case c.Asked:
		return settledByRule(id, events.ToolUnknown, "The turn was interrupted before the client sent a result. It may have run the call.")
	}
	return settledByRule(id, events.ToolCancelled, "The turn was interrupted before this call began.")
}
