package page

import (
	"bytes"
	"encoding/json"
	"html/template"
	"path"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// part is a piece of a message.
type part struct {
	Kind      string // text, reasoning, call, file, source, data
	HTML      template.HTML
	Text      string
	Name      string
	Media     string
	Link      string
	Size      string
	Truncated bool
	Call      *call
}

// call is a call of a tool, and what became of it.
type call struct {
	Chat     string
	ReadOnly bool

	ID        events.CallID
	Tool      string
	Arguments string // what nobody would see stands there as its number
	Written   string // the same, as they are
	Cut       bool   // they are only the beginning
	Whole     string // where all of them are, if they are cut
	Edited    string // the arguments that somebody made of them
	Short     bool   // the arguments fit on a line
	Fields    []row  // of the arguments, where they are an object

	Status    transcript.CallStatus
	Label     string // of the status, for people
	Tone      string // ok, bad, wait or run
	Waits     bool   // for a decision about it
	Approval  *transcript.Approval
	Decided   string
	Question  *question
	Progress  string
	Result    []part
	Truncated bool
	Blob      events.Digest
	Took      string
	Artifacts []artifact
	Work      *transcript.Work
}

// question is what a call asks a person.
type question struct {
	transcript.Question
	Chat     string
	Call     events.CallID
	ReadOnly bool
	Open     bool
}

func questionOf(chat string, id events.CallID, q *transcript.Question, readOnly bool) *question {
	return &question{Question: *q, Chat: chat, Call: id, ReadOnly: readOnly, Open: len(q.Answers) == 0 && !readOnly}
}

// part is p for people. What a model says is Markdown, what anybody else says is text.
func (b *builder) part(p *transcript.Part, role transcript.Role) part {
	shown := part{Text: p.Text, Name: p.Name, Media: p.MediaType, Truncated: p.Truncated}
	switch p.Type {
	case events.PartText:
		shown.Kind = "text"
		if role == transcript.RoleAssistant {
			shown.Kind, shown.HTML = "markdown", markdown(p.Text)
		}
	case events.PartReasoning:
		shown.Kind = "reasoning"
	case events.PartCall:
		shown.Kind, shown.Call = "call", b.call(p)
	case events.PartImage, events.PartFile:
		shown.Kind = "file"
		if shown.Name == "" {
			shown.Name = "unnamed file"
		}
		if p.Blob != "" {
			shown.Link, shown.Size = contentLink(b.page.Chat, p.Blob, p.Name), size(p.Bytes)
		}
	case events.PartSource:
		shown.Kind, shown.Link, shown.Text = "source", webLink(p.URL), firstOf(p.Title, p.URL)
	case events.PartData, events.PartProviderCall, events.PartProviderResult:
		shown.Kind, shown.Text = "data", pretty(firstOf(p.JSON, p.Text, p.Arguments))
		shown.Name = firstOf(p.Name, strings.ReplaceAll(string(p.Type), "_", " "))
	}
	return shown
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// shortChars is how much of the arguments of a call stands on its line.
const shortChars = 80

func (b *builder) call(p *transcript.Part) *call {
	c := p.Call
	if c == nil {
		c = &transcript.Call{Status: transcript.CallWaiting}
	}
	shown := &call{
		Chat: b.page.Chat, ReadOnly: b.readOnly, ID: c.ID, Tool: events.VisibleText(p.Name), Written: pretty(p.Arguments), Status: c.Status,
		Cut: p.Truncated || p.Blob != "", Approval: c.Approval, Truncated: c.Truncated, Blob: c.Blob, Work: c.Work,
	}
	shown.Arguments = events.VisibleText(shown.Written)
	shown.Short = len(shown.Arguments) <= shortChars && !strings.Contains(shown.Arguments, "\n")
	if !shown.Short {
		shown.Fields = fieldsOf(p.Arguments)
	}
	if p.Blob != "" {
		shown.Whole = contentLink(b.page.Chat, p.Blob, "arguments.json")
	}
	if len(c.Edited) > 0 {
		shown.Edited = events.VisibleText(pretty(c.Edited[0].Arguments))
	}
	shown.Label, shown.Tone = statusWords(c)
	shown.Waits = c.Status == transcript.CallApproval
	if a := c.Approval; a != nil && a.Decision != "" {
		shown.Decided = decided(*a)
	}
	if c.Question != nil {
		shown.Question = questionOf(b.page.Chat, c.ID, c.Question, b.readOnly)
		shown.Question.Open = shown.Question.Open && c.Status == transcript.CallAsking
	}
	if shown.Tone == "run" {
		shown.Progress = b.progress[c.ID]
	}
	for i := range c.Result {
		shown.Result = append(shown.Result, b.part(&c.Result[i], transcript.RoleUser))
	}
	if c.RanMS > 0 {
		shown.Took = took(events.Time(c.RanMS).Sub(0))
	}
	for _, a := range c.Artifacts {
		shown.Artifacts = append(shown.Artifacts, artifact{Artifact: a, Chat: b.page.Chat, Size: size(a.Bytes)})
	}
	return shown
}

// statusWords says how a call stands, and with which tone.
func statusWords(c *transcript.Call) (label, tone string) {
	switch c.Status {
	case transcript.CallWaiting:
		return "waiting", "wait"
	case transcript.CallReview:
		return "being judged", "wait"
	case transcript.CallApproval:
		return "needs your approval", "ask"
	case transcript.CallAsking:
		return "asks you", "ask"
	case transcript.CallClient:
		return "for a client", "wait"
	case transcript.CallRequested:
		return "handed out", "run"
	case transcript.CallStarted:
		return "running", "run"
	case transcript.CallChild:
		return "another chat works on it", "run"
	}
	switch events.ToolStatus(c.Status) {
	case events.ToolOK:
		return "done", "ok"
	case events.ToolError:
		return "failed", "bad"
	case events.ToolDenied:
		return "denied", "bad"
	case events.ToolCancelled:
		return "cancelled", "off"
	case events.ToolTimeout:
		return "took too long", "bad"
	case events.ToolUnknown:
		return "started, outcome unknown", "bad"
	case events.ToolInvalid:
		return "invalid arguments", "bad"
	case events.ToolNotFound:
		return "no such tool", "bad"
	}
	return string(c.Status), "wait"
}

// decided says who decided what about a call.
func decided(a transcript.Approval) string {
	what := string(a.Decision)
	if a.Scope == events.ScopeChat && a.Decision == events.ApprovalApproved {
		what += " for this chat"
	}
	switch a.By {
	case events.ResolvedByUser:
		if a.User != "" {
			what += " by " + a.User
		}
	case events.ResolvedByModel:
		what += " by a model"
	case events.ResolvedByRule:
		what += " by an earlier decision"
	case events.ResolvedByDeadline:
		what += ": nobody answered in time"
	}
	if a.Reason != "" {
		what += ": " + a.Reason
	}
	return what
}

// pretty is JSON with indentation where that helps; anything else as it is. What stands
// inside of its strings is never changed.
func pretty(text string) string {
	if len(text) <= shortChars && !strings.Contains(text, "\n") {
		return text
	}
	return indented([]byte(text))
}

// maxIndents is how deep JSON may be to be indented: what is indented grows with the
// square of that.
const maxIndents = 100

// indented is JSON as people read it; what is no JSON, or too deep, stays as it is. Its
// numbers and the order of its fields stay.
func indented(raw json.RawMessage) string {
	var text bytes.Buffer
	if tooDeep(raw) || json.Indent(&text, raw, "", "  ") != nil {
		return string(raw)
	}
	return text.String()
}

// tooDeep reports whether JSON is deeper than it may be. What is no JSON may seem so.
func tooDeep(raw []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if depth > maxIndents {
			return true
		}
	}
	return false
}

// maxFields of an object are shown one by one; one that has more is shown as JSON.
const maxFields = 24

// fieldsOf are the fields of an object in its order: what somebody is to approve should
// be read as it will be written, not as JSON has to spell it. Nil if text is anything else
// than one object, each of whose fields is there once.
func fieldsOf(text string) []row {
	d := json.NewDecoder(strings.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') || !json.Valid([]byte(text)) {
		return nil
	}
	var fields []row
	seen := make(map[string]bool)
	for d.More() {
		name, err := d.Token()
		key, ok := name.(string)
		if err != nil || !ok || seen[key] || len(fields) == maxFields {
			return nil
		}
		seen[key] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		shown := pretty(string(value))
		if plain := ""; json.Unmarshal(value, &plain) == nil && string(value) != "null" {
			shown = plain
		}
		fields = append(fields, row{events.VisibleText(key), events.VisibleText(shown)})
	}
	return fields
}

// contentLink is where content of a chat is to be had.
func contentLink(chat string, d events.Digest, name string) string {
	link := "/c/" + chat + "/content/" + d.Hex()
	if name = fileName(name); name != "" {
		link += "?name=" + template.URLQueryEscaper(name)
	}
	return link
}

// maxNameChars of a file's name are kept.
const maxNameChars = 100

// fileName is what a file may be called on the machine of whoever gets it.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`"*:<>?|/%;`, r) {
			return '_'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxNameChars {
		name = string(runes[:maxNameChars])
	}
	return strings.Trim(name, ". ")
}

// webLink is an address that a browser may be sent to, or nothing.
func webLink(address string) string {
	lower := strings.ToLower(address)
	if strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://") {
		return address
	}
	return ""
}
