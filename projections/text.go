package projections

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
)

// TextWriter writes a transcript as text for a terminal, page by page. What
// people, models and tools said is repaired once more before it is written: no
// terminal takes orders from a log.
type TextWriter struct {
	w    io.Writer
	zone *time.Location
	err  error

	begun  bool
	marked int // the message up to which marks are written
	told   int // the newest turn whose end was written
}

// beforeAll is before what stands before the first message.
const beforeAll = -1

// NewTextWriter writes to w, with times in that zone; nil means UTC.
func NewTextWriter(w io.Writer, zone *time.Location) *TextWriter {
	if zone == nil {
		zone = time.UTC
	}
	return &TextWriter{w: w, zone: zone, marked: beforeAll}
}

// WritePage writes the next page. Above the first one stands the chat's head,
// below the last one what waits and what goes on. The error is w's first.
func (t *TextWriter) WritePage(p Transcript) error {
	if !t.begun {
		t.begun = true
		t.head(p.Head)
	}
	for _, m := range p.Messages {
		t.ends(p.Turns, m.N-1)
		t.marks(p.Marks, m.N-1)
		t.message(m)
	}
	if n := len(p.Messages); n > 0 {
		t.ends(p.Turns, p.Messages[n-1].N)
		last := p.Messages[n-1].N
		if p.Next == 0 { // what was said last may be on another branch
			last = p.MessageCount
		}
		t.marks(p.Marks, last)
	} else {
		t.ends(p.Turns, p.MessageCount)
	}
	if p.Next == 0 {
		t.foot(p)
	}
	return t.err
}

func (t *TextWriter) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *TextWriter) head(h Head) {
	title := oneLine(h.Title)
	if title == "" {
		title = "(no title)"
	}
	archived := ""
	if h.Archived {
		archived = ", archived"
	}
	if h.Plan {
		archived += ", plan mode"
	}
	t.printf("%s\nchat %s, rev %d, %s%s; times in %s\n", title, h.Chat, h.Rev, h.Status, archived, h.At.Time().In(t.zone).Format("MST"))
	if p := h.Parent; p != nil {
		t.printf("works for call %s of chat %s\n", p.Call, p.Chat)
	}
}

func (t *TextWriter) message(m Message) {
	who := "user"
	switch {
	case m.Role == RoleAssistant && m.Interrupted:
		who = "assistant, interrupted"
	case m.Role == RoleAssistant:
		who = "assistant"
	case m.By != "":
		who = oneLine(m.By)
	}
	t.printf("\n[%s] %s\n", t.clock(m.At), who)
	for _, p := range m.Parts {
		t.part(p)
	}
}

func (t *TextWriter) part(p Part) {
	switch p.Type {
	case events.PartText:
		t.indented("", shown(p, p.Text))
	case events.PartReasoning:
		if p.Text != "" {
			t.indented("(thinks) ", shown(p, p.Text))
		}
	case events.PartCall:
		t.call(p)
	case events.PartData:
		t.indented("", shown(p, p.JSON))
	case events.PartImage, events.PartFile:
		t.indented("", fmt.Sprintf("<%s %s, %s, %d bytes>", p.Type, oneLine(p.Name), oneLine(p.MediaType), p.Bytes))
	case events.PartSource:
		t.indented("", fmt.Sprintf("<source %s %s>", oneLine(p.Title), oneLine(p.URL)))
	case events.PartProviderCall, events.PartProviderResult:
		t.indented("", fmt.Sprintf("<%s %s>", p.Type, oneLine(p.Name)))
	}
}

func (t *TextWriter) call(p Part) {
	if p.Call == nil {
		return
	}
	arguments := oneLine(p.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	if q := p.Call.Question; q != nil {
		t.indented("-> ", fmt.Sprintf("%s  [%s %s]", oneLine(p.Name), p.Call.ID, p.Call.Status))
		t.question(p.Call.Status, q)
		return
	}
	if len(p.Call.Artifacts) > 0 && p.Name == toolCreateArtifact { // the arguments are its content
		t.indented("-> ", fmt.Sprintf("%s  [%s %s]", oneLine(p.Name), p.Call.ID, p.Call.Status))
		t.artifacts(p.Call.Artifacts)
		return
	}
	t.indented("-> ", fmt.Sprintf("%s %s  [%s %s]", oneLine(p.Name), arguments, p.Call.ID, p.Call.Status))
	t.approval(*p.Call)
	t.work(p.Call.Work)
	t.artifacts(p.Call.Artifacts)
	for _, r := range p.Call.Result {
		t.indented("   ", resultText(r))
	}
}

// resultText is a part of a result as text, or what it names.
func resultText(p Part) string {
	switch p.Type {
	case events.PartImage, events.PartFile:
		return fmt.Sprintf("<%s %s, %s, %d bytes, %s>", p.Type, oneLine(p.Name), oneLine(p.MediaType), p.Bytes, p.Blob)
	case events.PartSource:
		return fmt.Sprintf("<source %s %s>", oneLine(p.Title), oneLine(p.URL))
	case events.PartText, events.PartReasoning, events.PartCall, events.PartProviderCall, events.PartProviderResult, events.PartData:
	}
	return shown(p, p.Text+p.JSON)
}

// toolCreateArtifact is the core's tool by which a model keeps what it writes itself.
const toolCreateArtifact = "create_artifact"

func (t *TextWriter) artifacts(made []events.Artifact) {
	for _, a := range made {
		t.indented("   ", ArtifactLine(a))
	}
}

// ArtifactLine is an artifact in a line, with the digest that its content is had by.
func ArtifactLine(a events.Artifact) string {
	return fmt.Sprintf("<artifact %s, version %d, %s, %d bytes, %s>", oneLine(a.Title), a.Version, oneLine(a.Type), a.Bytes, a.Digest)
}

// shown is a text, with a word about what is missing of it.
func shown(p Part, text string) string {
	switch {
	case p.Blob != "" && text == "":
		return fmt.Sprintf("<%d bytes, %s>", p.Bytes, p.Blob)
	case p.Truncated:
		return fmt.Sprintf("%s … <%d bytes in all>", text, p.Bytes)
	}
	return text
}

// indented writes text with its first line behind a mark and the others below it.
func (t *TextWriter) indented(mark, text string) {
	const margin = "  "
	text = strings.TrimRight(events.VisibleText(text), "\r\n ")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		t.printf("%s\n", strings.TrimRight(margin+mark+line, " \r"))
	}
}

// ends tells how those turns ended whose last message is n, or which had none
// and began behind it.
func (t *TextWriter) ends(turns []Turn, n int) {
	for _, turn := range turns {
		if turn.Turn <= t.told || turn.Status == TurnRunning || turn.Last > n || turn.First > n+1 {
			continue
		}
		t.told = turn.Turn
		t.printf("\n-- %s\n", outcomeOf(turn))
	}
}

// marks writes where models are shown something else from then on, behind message n.
func (t *TextWriter) marks(marks []Mark, n int) {
	for _, m := range marks {
		if m.After > n || m.After <= t.marked {
			continue
		}
		switch m.Kind {
		case MarkCompacted:
			if m.Masked > 0 {
				t.printf("\n-- the model is shown less of what stands above, without %s of tools: about %d tokens, and not %d\n",
					count(m.Masked, "old output"), m.Tokens, m.Before)
				continue
			}
			t.printf("\n-- the model is shown less of what stands above: about %d tokens, and not %d\n", m.Tokens, m.Before)
			if m.Summary != "" {
				t.indented("", oneLine(m.Summary))
			}
		case MarkFailed:
			t.printf("\n-- no summary: %s\n", oneLine(m.Message))
		case MarkCleared:
			t.printf("\n-- the model is shown nothing of what stands above\n")
		case MarkSkill:
			t.printf("\n-- the model reads the skill %s\n", oneLine(m.Skill))
		case MarkRestored:
			t.printf("\n-- the model is shown again what it was shown before\n")
		}
	}
	t.marked = max(t.marked, n)
}

func outcomeOf(turn Turn) string {
	s := fmt.Sprintf("turn %d %s", turn.Turn, turn.Status)
	switch turn.Status {
	case TurnCompleted:
		if turn.Finish != events.FinishComplete {
			s += ": " + string(turn.Finish)
		}
	case TurnFailed:
		s += fmt.Sprintf(": %s: %s", turn.Class, oneLine(turn.Message))
	case TurnInterrupted:
		if turn.Reason != "" {
			s += ": " + oneLine(turn.Reason)
		}
	case TurnRunning:
	}
	if len(turn.Siblings) > 1 {
		s += fmt.Sprintf(", %d of %d beside each other", slices.Index(turn.Siblings, turn.Turn)+1, len(turn.Siblings))
	}
	u := turn.Totals.Usage
	return s + fmt.Sprintf(" (%s, %s, %d tokens in, %d out)",
		count(turn.Totals.Steps, "step"), count(turn.Totals.Calls, "call"), u.Input+u.CacheRead+u.CacheWrite, u.Output)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (t *TextWriter) foot(p Transcript) {
	for _, w := range p.Waiting {
		text := oneLine(w.Text)
		if w.Truncated {
			text += " …"
		}
		t.printf("\n.. waiting, %s, input %s: %s\n", w.Mode, w.Input, text)
	}
	switch {
	case p.Status == StatusInterrupting:
		t.printf("\n.. turn %d is being interrupted\n", p.Turn)
	case p.Reached != nil:
		t.printf("\n.. turn %d waits, its budget is used up: %s of the %s\n", p.Turn, p.Reached.Bound, p.Reached.Scope)
	case p.RetryAt != 0:
		t.printf("\n.. step %s is tried again at %s\n", p.Step, t.clock(p.RetryAt))
	case p.Step != "":
		t.printf("\n.. step %s, attempt %d, is under way\n", p.Step, p.Attempt)
	case p.Status == StatusRunning && !t.open(p):
		t.printf("\n.. turn %d waits for tools\n", p.Turn)
	}
}

// open tells what a chat waits for that somebody is to do, and whether there is any.
func (t *TextWriter) open(p Transcript) (told bool) {
	told = t.kin(p.Children)
	for _, call := range p.Awaiting {
		told = true
		t.printf("\n.. call %s waits for approval: everturn approve %s %s\n", call, p.Chat, call)
	}
	for _, m := range p.Messages {
		for _, part := range m.Parts {
			switch c := part.Call; {
			case c == nil:
			case c.Status == CallAsking && c.Question != nil:
				told = true
				t.printf("\n.. call %s waits for an answer: %s\n", c.ID, AnswerLine(p.Chat, c.ID, c.Question.Questions, nil))
			case c.Status == CallClient:
				told = true
				t.printf("\n.. call %s is the client's to run: %s\n", c.ID, ResultLine(p.Chat, c.ID))
			}
		}
	}
	return told
}

func (t *TextWriter) clock(at events.Time) string {
	return at.Time().In(t.zone).Format("2006-01-02 15:04:05")
}

// oneLine is text without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(events.VisibleText(s)), " ") }
