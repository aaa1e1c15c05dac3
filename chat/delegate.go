package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// ToolDelegate is the tool by which a model has another chat do something.
const ToolDelegate = "delegate"

const delegateDescription = `Have a sub-agent do a task in a chat of its own, and get its final answer as the result. ` +
	`Several calls in one step work side by side. The sub-agent knows only what the task says, unless context gives it more: ` +
	`say in the task all that it needs to know, and what you want back.`

const delegateSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","minLength":1,"description":"What to do, and what to answer."},` +
	`"agent":{"type":"string","description":"The named agent that does it; left out, one with your own settings and tools."},` +
	`"context":{"type":"string","enum":["none","last_n","all"],` +
	`"description":"What it gets to read of this conversation: nothing if left out, its newest messages, or all."},` +
	`"messages":{"type":"integer","minimum":1,"maximum":100,"description":"How many messages last_n means; 10 if left out."}},` +
	`"required":["task"]}`

// How much of a conversation a child gets to read.
const (
	contextNone   = "none"
	contextLast   = "last_n"
	contextAll    = "all"
	lastMessages  = 10       // of last_n that says no number
	maxContext    = 32 << 10 // bytes; the middle of more is left out
	maxChildTitle = 50       // characters of the task
)

// delegation is what a call asks for.
type delegation struct {
	Task     string `json:"task"`
	Agent    string `json:"agent"`
	Context  string `json:"context"`
	Messages int    `json:"messages"`
}

func delegate() builtIn {
	return builtIn{
		manifest: protocol.Manifest{
			Name: ToolDelegate, Description: delegateDescription, Schema: json.RawMessage(delegateSchema),
			Parallel: new(true), TimeoutMS: events.ChildTime.Milliseconds(), Policy: events.PolicyAllow,
		},
		offered: func(events.Settings) bool { return false },
		begin: func(_ *beginning, _ events.CallID, arguments string) ([]events.Event, string) {
			_, wrong := readDelegation(arguments)
			return nil, wrong // it begins when there is a place, and when nobody need approve it any more
		},
	}
}

// readDelegation reads arguments that fit the schema, or says what is wrong with them.
func readDelegation(arguments string) (delegation, string) {
	var d delegation
	if err := json.Unmarshal([]byte(arguments), &d); err != nil {
		return d, "The arguments cannot be read: " + err.Error()
	}
	d.Task = strings.TrimSpace(events.RepairText(d.Task))
	switch {
	case isBlank(d.Task):
		return d, "task is blank."
	case len(d.Task) > events.MaxTaskBytes:
		return d, fmt.Sprintf("task has %d bytes; at most %d are allowed.", len(d.Task), events.MaxTaskBytes)
	case len(arguments) > events.MaxInlineBytes:
		return d, fmt.Sprintf("The arguments have %d bytes as they are written; at most %d are allowed.", len(arguments), events.MaxInlineBytes)
	}
	if d.Agent != "" {
		if err := events.ValidateAgent(d.Agent); err != nil {
			return d, "agent: " + err.Error()
		}
	}
	if d.Context == contextLast && d.Messages == 0 {
		d.Messages = lastMessages
	}
	return d, ""
}

// Birth brings a chat into being that works for a call of another. It follows from
// the parent while the call is open, so whoever makes it makes the same.
type Birth struct {
	Parent   events.Parent
	Depth    int
	Settings events.Settings
	Title    string
	Granted  events.Budget
	Parts    []events.Part // what it is told

	// Stopped means that nobody waits for it any more: it is made only so that
	// whoever comes late to make it finds it ended.
	Stopped bool
}

func (b Birth) cause() events.Cause { return parentCause(b.Parent) }

// parentCause is the cause of what a child does because of its parent.
func parentCause(p events.Parent) events.Cause {
	return events.Cause{Kind: events.CausedByChat, ID: p.Chat + "/" + p.Call.String()}
}

// BirthOf is what brings the child of an open call into being.
func (s State) BirthOf(id events.CallID) (Birth, bool) {
	c := s.call(id)
	if c == nil || !c.open() || c.Child == nil {
		return Birth{}, false
	}
	d, _ := readDelegation(normalArguments(c.Arguments))
	b := Birth{
		Parent: events.Parent{Chat: s.f.Chat, Call: id}, Depth: c.Child.Depth, Granted: c.Child.Granted, Stopped: s.Interrupting(),
		Settings: s.forChild(d), Title: titleOf(d.Task),
	}
	if before := s.contextFor(d); before != "" {
		b.Parts = append(b.Parts, events.Text(before))
	}
	b.Parts = append(b.Parts, events.Text(d.Task))
	return b, true
}

// forChild are the settings of a child: those of the turn it works for, or of the
// agent that was asked for. A person who wants to be asked is asked about its calls,
// too; no other mode of the parent's takes the place of the one that the agent has.
// The client's own tools stay with the parent: nobody would answer there.
func (s State) forChild(d delegation) events.Settings {
	t := s.f.Current
	of := s.effective(t)
	if d.Agent != "" {
		child := events.Settings{Agent: d.Agent}
		if s.mode(t) == events.ApprovalAsk {
			child.Approval = events.ApprovalAsk
		}
		return child
	}
	tools := make([]string, 0, len(of.Tools))
	for _, tool := range of.Tools {
		if !tool.Client {
			tools = append(tools, tool.Name)
		}
	}
	limits := of.Limits
	child := events.Settings{
		Agent: of.Agent, Approval: s.mode(t), Model: of.Model, System: of.System, Reviewer: of.Reviewer,
		Tools: &tools, Limits: &limits,
	}
	if len(of.Skills) > 0 { // else tools say that there are none
		child.Skills = new(strings.Split(namesOfSkills(of.Skills), ", "))
	}
	return child
}

// contextFor is what a child gets to read of the conversation, or nothing.
func (s State) contextFor(d delegation) string {
	if d.Context != contextLast && d.Context != contextAll {
		return ""
	}
	var said []string
	for _, m := range Prompt(s).Messages {
		if m.Instruction || m.Role != model.RoleUser && m.Role != model.RoleAssistant {
			continue
		}
		for _, p := range m.Parts {
			if text := asSaid(p); text != "" {
				said = append(said, string(m.Role)+": "+text)
			}
		}
	}
	if d.Context == contextLast {
		said = said[max(0, len(said)-d.Messages):]
	}
	if len(said) == 0 {
		return ""
	}
	text := events.CutMiddle(strings.Join(said, "\n\n"), maxContext, func(gone int) string {
		return fmt.Sprintf("\n[%d bytes of the conversation were left out here]\n", gone)
	})
	return "What was said before, in the conversation that this task comes from:\n\n" + text
}

// asSaid is a part of a message for a child: a text, or what is said in place of
// what is not in the log itself. Calls and what a model thought are nothing to it.
func asSaid(p events.Part) string {
	switch {
	case p.Type == events.PartText && p.Blob != "":
		return fmt.Sprintf("[a text of %d bytes that is not shown here]", p.Bytes)
	case p.Type == events.PartText && !isBlank(p.Text):
		return p.Text
	case isAttachment(p.Type):
		return fmt.Sprintf("[%s %q that is not shown here]", p.Type, p.Name)
	}
	return ""
}

// titleOf is the first line of a task that shows anything.
func titleOf(task string) string {
	for line := range strings.Lines(task) {
		if !isBlank(line) {
			return events.Shorten(strings.TrimSpace(line), maxChildTitle)
		}
	}
	return "" // no task is blank
}

// atDepth is what a turn of a chat of that depth may use of tools: at the last one
// nobody delegates further.
func atDepth(tools []events.Tool, depth int) []events.Tool {
	if depth < events.MaxDepth {
		return tools
	}
	return slices.DeleteFunc(tools, isDelegate)
}

func isDelegate(t events.Tool) bool { return t.Name == ToolDelegate && t.Group == "" && !t.Client }
