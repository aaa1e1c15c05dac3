package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// viewer shows what happens in a chat.
type viewer interface {
	see(client.Sight)
	awaits([]transcript.Awaited) // in chats that work for the one that is watched
}

// jsonView shows each thing as one JSON object.
type jsonView struct{ out *json.Encoder }

func (v jsonView) see(s client.Sight) { _ = v.out.Encode(s) } // nobody is left to tell

// liveView shows it as text for a terminal. What people, models and tools say is
// made visible first: no terminal takes orders from a chat.
type liveView struct {
	out  io.Writer
	chat string // whose lines to type are shown along with what waits; empty if that is asked in place

	step    events.StepID
	attempt int
	aside   events.StepID // the newest that is asked for something that nobody reads
	title   events.StepID // the newest that is to bring a title
	kind    string        // of the delta shown last; empty if none of this step was
	last    []rune        // the character that was shown last
	middle  bool          // of a line
}

func (v *liveView) printf(format string, args ...any) {
	before := string(v.last) // a piece may begin with what belongs to the end of the last one
	text := events.VisibleText(before + fmt.Sprintf(format, args...))
	text = strings.TrimPrefix(text, events.VisibleText(before))
	if text == "" {
		return
	}
	fmt.Fprint(v.out, text)
	v.last = []rune(text[len(events.CutText(text, len(text)-1)):])
	v.middle = text[len(text)-1] != '\n'
}

// line begins a new line if the last one has not ended.
func (v *liveView) line() {
	if v.middle {
		v.printf("\n")
	}
}

// see implements [viewer].
func (v *liveView) see(s client.Sight) {
	switch {
	case s.Delta != nil:
		v.delta(*s.Delta)
	case s.Progress != nil:
		v.line()
		v.printf("  %s: %s\n", s.Progress.Call, s.Progress.Text)
	case s.Missed != nil:
		v.line()
		v.printf("[commits %d to %d were not seen; the transcript has them]\n", s.Missed.From, s.Missed.To)
	case s.Commit != nil:
		for _, e := range s.Commit.Events {
			v.event(e)
		}
	}
}

// delta writes a piece of the answer. A new attempt starts over.
func (v *liveView) delta(d protocol.Delta) {
	if v.step == d.Step && v.attempt > d.Attempt {
		return // of an attempt that was given up
	}
	if v.step == d.Step && v.attempt != 0 && d.Attempt > v.attempt {
		v.line()
		v.printf("[attempt %d]\n", d.Attempt)
	}
	first := v.step != d.Step || v.attempt != d.Attempt
	if v.step != d.Step {
		v.kind = ""
	}
	v.step, v.attempt = d.Step, d.Attempt
	if d.Kind == string(events.PartCall) {
		return // the commit shows the whole call
	}
	if first && d.I > 0 {
		v.line()
		v.printf("[it has begun to answer; the transcript will have all of it]\n… ")
	}
	if v.kind != d.Kind && d.Kind == string(events.PartReasoning) {
		v.line()
		v.printf("(thinking) ")
	} else if v.kind == string(events.PartReasoning) && v.kind != d.Kind {
		v.line()
	}
	v.kind = d.Kind
	v.printf("%s", d.Text)
}

// event shows a fact.
func (v *liveView) event(e events.Event) {
	switch e := e.(type) {
	case events.InputAccepted:
		v.attachments(e.Parts)
	case events.StepRequested:
		switch e.Purpose {
		case events.PurposeTitle: // beside what is shown here
			v.title = e.Step
		case events.PurposeSummary, events.PurposeReview:
			v.aside = e.Step
		case events.PurposeAnswer:
		}
		if e.Call != nil {
			v.line()
			v.printf("… %s judges call %s\n", e.Model, e.Call)
		}
	case events.StepCompleted:
		if e.Step != v.aside && e.Step.Turn != 0 {
			v.completed(e)
		}
	case events.StepFailed:
		if e.Step == v.title {
			return // nobody waits for it
		}
		v.line()
		v.printf("! %s: %s%s\n", e.Class, e.Message, retried(e))
	case events.ToolCompleted:
		v.line()
		v.printf("← %s", e.Status)
		for _, p := range e.Parts {
			if text := p.Text + p.JSON; text != "" { // images and files follow
				v.printf(" %s", shorten(text))
			}
		}
		v.line()
		v.attachments(e.Parts)
		for _, a := range e.Artifacts {
			v.printf("  %s\n", projections.ArtifactLine(a))
		}
	case events.ActionRequested:
		v.line()
		for _, call := range e.Calls {
			v.printf("… call %s is the client's to run%s\n", call, v.typed(projections.ResultLine(v.chat, call)))
		}
	case events.QuestionAsked:
		v.question(e)
	case events.QuestionAnswered:
		v.answered(e)
	case events.ChatSpawned:
		v.line()
		v.printf("[works for call %s of chat %s]\n", e.Parent.Call, e.Parent.Chat)
	case events.ChildSpawned:
		v.line()
		v.printf("… chat %s works for call %s%s\n", e.Child, e.Call, v.typed("everturn tail "+e.Child))
	case events.ChildEnded:
		v.line()
		v.printf("… chat %s worked for call %s: %s\n", e.Child, e.Call, e.Outcome)
	case events.ApprovalRequested:
		v.line()
		v.printf("… %s waits for approval as %s%s%s\n", e.Tool, e.Call, reviewOf(e), v.typed(fmt.Sprintf("everturn approve %s %s", v.chat, e.Call)))
	case events.ApprovalResolved:
		v.line()
		v.printf("… %s\n", replay.About(e))
	case events.BudgetReached:
		v.line()
		v.printf("… %s%s\n", replay.About(e), v.typed(extendLine(v.chat, e)))
	case events.BudgetExtended:
		v.line()
		v.printf("… budget %s\n", replay.About(e))
	case events.ContextCompacted:
		v.line()
		v.printf("[%s]\n", compacted(e))
	case events.ContextCompactionFailed:
		v.line()
		v.printf("[no summary: %s]\n", e.Message)
	case events.ContextCleared:
		v.line()
		v.printf("[the model is shown nothing of what was said before]\n")
	case events.ContextRestored:
		v.line()
		v.printf("[the model is shown again what it was shown before]\n")
	case events.TurnCompleted, events.TurnFailed:
		v.line()
	case events.InputSteered:
		v.line()
		v.printf("[turn %d goes on with what was said meanwhile]\n", e.Step.Turn)
	case events.SkillActivated:
		v.line()
		v.printf("[the model reads the skill %s]\n", e.Skill)
	case events.TurnInterrupted:
		v.line()
		v.printf("[turn %d was interrupted]\n", e.Turn)
	case events.ChatErased:
		v.line()
		v.printf("[the chat was erased]\n")
	case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted, events.InputEdited, events.InputPromoted, events.InputWithdrawn, events.BranchSelected,
		events.TurnStarted, events.TurnInterruptRequested, events.StepInterrupted,
		events.ToolRequested, events.ToolStarted, events.QuestionHeld, events.ModeSet, events.AgentNamed, events.ChatEraseRequested, events.ContentDeleted:
	}
}

// typed is a line to type, if such lines are shown.
func (v *liveView) typed(line string) string {
	if v.chat == "" {
		return ""
	}
	return ": " + line
}

// attachments shows which images and files came with something.
func (v *liveView) attachments(parts []events.Part) {
	for _, p := range parts {
		if p.Type == events.PartImage || p.Type == events.PartFile {
			v.line()
			v.printf("  %s\n", described(p))
		}
	}
}

// completed shows the calls of a whole answer, and its text if no piece of it
// was seen on the way.
func (v *liveView) completed(e events.StepCompleted) {
	unseen := v.step != e.Step || v.kind == ""
	v.step, v.attempt, v.kind = e.Step, e.Attempt, ""
	for _, p := range e.Parts {
		switch {
		case p.Type == events.PartCall:
			v.line()
			v.printf("→ %s %s\n", p.Name, shorten(p.Arguments))
		case p.Type == events.PartText && unseen:
			v.printf("%s", p.Text)
		}
	}
}

// compacted says how much less the model is shown.
func compacted(e events.ContextCompacted) string {
	if e.Step == nil {
		return fmt.Sprintf("the model is shown what was said before without %s of tools: about %d tokens instead of %d",
			counted(len(e.Masked), "old output"), e.After, e.Before)
	}
	return fmt.Sprintf("the model is shown a summary of what was said before: about %d tokens instead of %d", e.After, e.Before)
}

// retried says when which attempt follows a failed one; empty if none does, or
// if it follows at once and is seen itself.
func retried(e events.StepFailed) string {
	if e.RetryAt == 0 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d of %d at %s)", e.Attempt+1, events.MaxAttemptsPerStep,
		e.RetryAt.Time().Local().Format(time.TimeOnly))
}

// failed is why a turn has failed, empty if it has not.
func failed(t client.Outcome) string {
	if t.Status != transcript.TurnFailed {
		return ""
	}
	return fmt.Sprintf("the turn failed: %s: %s", t.Class, t.Message)
}
