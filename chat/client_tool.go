package chat

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// action is what the client of a chat was asked to do in a step.
type action struct {
	Rev uint64      `json:"rev"` // of the commit that asked
	Due events.Time `json:"due"`
}

const saidClientSilent = "The client sent no result in time."

var clientToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// wrongClientTools says what is wrong with the tools of a client, or nothing.
func wrongClientTools(tools []events.ClientTool) string {
	if len(tools) > events.MaxClientTools {
		return fmt.Sprintf("client_tools: %d, at most %d are allowed", len(tools), events.MaxClientTools)
	}
	seen := map[string]bool{}
	for i, t := range tools {
		switch {
		case !clientToolName.MatchString(t.Name):
			return fmt.Sprintf("client_tools[%d].name: want 1 to 64 of a-z, A-Z, 0-9, _ and -", i)
		case seen[t.Name]:
			return fmt.Sprintf("client_tools[%d].name: %s is there twice", i, t.Name)
		case IsBuiltIn(t.Name):
			return fmt.Sprintf("client_tools[%d].name: Everturn has a tool of the name %s itself", i, t.Name)
		case events.RepairText(t.Description) != t.Description:
			return fmt.Sprintf("client_tools[%d].description: has characters that are not text", i)
		case !events.IsObject(string(t.Schema)):
			return fmt.Sprintf("client_tools[%d].schema: want a JSON object", i)
		}
		if _, err := CompileSchema(t.Schema); err != nil {
			return events.Shorten(events.RepairText(fmt.Sprintf("client_tools[%d].schema: %v", i, err)), maxReasonChars)
		}
		seen[t.Name] = true
	}
	b, err := json.Marshal(tools)
	if err != nil {
		return "client_tools: no JSON"
	}
	if len(b) > events.MaxClientToolsBytes {
		return fmt.Sprintf("client_tools: %d bytes, at most %d are allowed", len(b), events.MaxClientToolsBytes)
	}
	return ""
}

// clientTool is the tool as a turn has it.
func clientTool(t events.ClientTool) events.Tool {
	return events.Tool{
		Name: t.Name, Manifest: digestOf(t), Client: true, Parallel: true,
		TimeoutMS: events.ActionTimeout.Milliseconds(), Policy: events.PolicyAllow,
	}
}

// clientToolOf is what the client said of a tool of its own.
func clientToolOf(settings events.Effective, name string) (events.ClientTool, bool) {
	for _, t := range settings.ClientTools {
		if t.Name == name {
			return t, true
		}
	}
	return events.ClientTool{}, false
}

// askClient asks the client for the open calls of its own tools, once nothing else
// of the step is open.
func (s State) askClient(at events.Time) []events.Event {
	t, st := s.lastStep()
	e := events.ActionRequested{Step: events.StepID{Turn: t.Number, Step: st.Number}, Due: at.Add(events.ActionTimeout)}
	for i := range st.Calls {
		c := &st.Calls[i]
		if c.open() && (c.Question != nil || c.Asked) {
			return nil // it asks a person, or the client was asked
		}
		if c.open() {
			e.Calls = append(e.Calls, t.callID(st, c))
		}
	}
	return []events.Event{e}
}

// decideClientResult takes the result of a call that the client was asked to run.
func decideClientResult(s State, b protocol.ClientResult, c Command) Decision {
	asked := s.anyCall(b.Call)
	switch {
	case asked == nil:
		return rejected(c, events.CodeUnknownCall, fmt.Sprintf("there is no call %s", b.Call), "")
	case !asked.open():
		return rejected(c, events.CodeAlreadyResolved, fmt.Sprintf("call %s has its result", b.Call), string(asked.Result.Status))
	case !asked.Asked:
		return rejected(c, events.CodeUnknownCall, fmt.Sprintf("call %s was not given to the client", b.Call), "")
	case len(b.Parts) > maxInputParts:
		return rejected(c, events.CodeBadCommand, fmt.Sprintf("parts: %d, at most %d are allowed", len(b.Parts), maxInputParts), "")
	}
	for i, p := range b.Parts {
		if p.Type != events.PartText && p.Type != events.PartData || p.Blob != "" {
			return rejected(c, events.CodeBadCommand, fmt.Sprintf("parts[%d]: want text or data", i), "")
		}
	}
	e := events.ToolCompleted{Call: b.Call, Status: events.ToolOK, IsError: b.IsError}
	if b.IsError {
		e.Status = events.ToolError
	}
	d := facts(e)
	if e.Parts, e.Truncated = cutParts(b.Parts, false); e.Truncated {
		var whole Content
		e.Parts, whole = cutWhole(b.Parts)
		e.Blob, d.Large = whole.Digest, []Content{whole}
	}
	d.Events[0] = e
	return d
}

// cutWhole is what is shown of a result that is too large, and the whole: the text
// of all parts, to be stored.
func cutWhole(parts []events.Part) ([]events.Part, Content) {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + p.JSON)
	}
	whole := b.String()
	digest := events.DigestOf([]byte(whole))
	shown := events.CutMiddle(events.RepairText(whole), events.MaxResultBytes, func(gone int) string {
		return fmt.Sprintf("\n\n[%d of %d bytes were cut out here; the whole is stored as %s]\n\n", gone, len(whole), digest)
	})
	return []events.Part{events.Text(shown)}, Content{Digest: digest, Bytes: []byte(whole)}
}

// endAction gives the calls that the client did not answer in time their results.
func (s State) endAction(step events.StepID) []events.Event {
	t, st := s.lastStep()
	if st == nil || st.Action == nil || step != (events.StepID{Turn: t.Number, Step: st.Number}) {
		return nil
	}
	var list []events.Event
	for i := range st.Calls {
		if c := &st.Calls[i]; c.open() && c.Asked {
			list = append(list, settledByRule(t.callID(st, c), events.ToolTimeout, saidClientSilent))
		}
	}
	return list
}

func (s State) misfitAction(e events.ActionRequested) string {
	_, st := s.lastStep()
	if st == nil {
		return fmt.Sprintf("the client is asked in step %s, which is not open", e.Step)
	}
	for _, id := range e.Calls {
		if id.StepID() != e.Step {
			return fmt.Sprintf("the client is asked for call %s in step %s", id, e.Step)
		}
		if wrong := s.misfitCall(id); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (s *State) requestAction(e events.ActionRequested) {
	_, st := s.lastStep()
	st.Action = &action{Rev: s.f.Rev, Due: e.Due}
	for _, id := range e.Calls {
		s.call(id).Asked = true
	}
}

// owedAction is the end of the time that the client has, if it has still something
// to send.
func (s State) owedAction(t *turn, st *step) []protocol.Work {
	if st.Action == nil {
		return nil
	}
	for i := range st.Calls {
		if st.Calls[i].open() && st.Calls[i].Asked {
			name := protocol.TimerName{Kind: protocol.TimerAction, Step: events.StepID{Turn: t.Number, Step: st.Number}}
			return []protocol.Work{s.timer(name, st.Action.Rev, st.Action.Due)}
		}
	}
	return nil
}

// clientSchema judges the arguments of one of the client's tools. It is compiled
// anew for each call: they are few, and the log has it.
func clientSchema(settings events.Effective, name string) (*Schema, bool) {
	t, ok := clientToolOf(settings, name)
	if !ok {
		return nil, false
	}
	schema, err := CompileSchema(t.Schema)
	return schema, err == nil
}

// wishes are settings, or none.
func wishes(s *events.Settings) events.Settings {
	if s == nil {
		return events.Settings{}
	}
	return *s
}
