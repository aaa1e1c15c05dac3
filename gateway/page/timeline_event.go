package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// storedEvent is an event as it is stored.
type storedEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// storedEvents are the events of a commit as they are stored.
func storedEvents(raw json.RawMessage) []storedEvent {
	var c struct {
		Events []storedEvent `json:"events"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	return c.Events
}

// typesOf are the events of a commit, without what they say.
func typesOf(raw json.RawMessage) []event {
	list := storedEvents(raw)
	shown := make([]event, len(list))
	for i, e := range list {
		family, _, _ := strings.Cut(e.Type, ".")
		shown[i] = event{Type: e.Type, Family: family}
	}
	return shown
}

// eventsOf are the events of a commit for people. Each is shown as it is stored.
func eventsOf(s stored) []event {
	list := storedEvents(s.raw)
	if len(list) != len(s.decoded.Events) {
		return nil
	}
	shown := typesOf(s.raw)
	for i, e := range list {
		shown[i].About, shown[i].JSON = about(s.decoded.Events[i]), indented(e.Data)
	}
	return shown
}

// aboutChars is how much is said about an event on its line.
const aboutChars = 120

// about says in a few words what an event is about: of the frequent ones. Of any other
// its fields say it.
func about(e events.Event) string {
	var text string
	switch e := e.(type) { //nolint:gochecksumtype // any other speaks for itself
	case events.InputAccepted:
		text = said(e.Parts)
	case events.StepRequested:
		text = join(e.Step.String(), string(e.Purpose), "attempt", strconv.Itoa(e.Attempt), e.Model)
	case events.StepCompleted:
		text = join(e.Step.String(), string(e.Stop), tokens(e.Usage.Total()), "tokens", said(e.Parts))
	case events.StepFailed:
		text = join(e.Step.String(), string(e.Class), e.Message)
	case events.ToolRequested:
		text = join(e.Call.String(), e.Tool)
	case events.ToolStarted:
		text = join(e.Call.String(), "by", e.Runner)
	case events.ToolCompleted:
		text = join(e.Call.String(), string(e.Status), said(e.Parts))
	case events.ApprovalRequested:
		text = join(e.Call.String(), e.Tool)
	case events.ApprovalResolved:
		text = join(e.Call.String(), string(e.Decision), "by", firstOf(e.User, string(e.By)))
	case events.TurnStarted:
		text = join("turn", strconv.Itoa(e.Turn), string(e.Cause))
	case events.TurnCompleted:
		text = join("turn", strconv.Itoa(e.Turn), string(e.Finish))
	case events.TurnFailed:
		text = join("turn", strconv.Itoa(e.Turn), string(e.Class), e.Message)
	case events.TurnInterrupted:
		text = join("turn", strconv.Itoa(e.Turn), e.Reason)
	case events.ChatTitled:
		text = e.Title
	case events.CommandRejected:
		text = join(string(e.Code), e.Message)
	default:
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > aboutChars {
		return string(runes[:aboutChars]) + "…"
	}
	return text
}

func join(words ...string) string { return strings.Join(words, " ") }

// said is the text among parts.
func said(parts []events.Part) string {
	var words []string
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case events.PartText:
			words = append(words, events.CutText(p.Text, aboutChars*4))
		case events.PartCall:
			words = append(words, "→ "+p.Name)
		case events.PartReasoning, events.PartImage, events.PartFile, events.PartSource, events.PartProviderCall, events.PartProviderResult, events.PartData:
		}
	}
	return strings.Join(words, " ")
}

// promptView is what a model was shown, for people.
type promptView struct {
	transcript.Prompt
	Model    string
	System   string
	Tools    []string
	Messages []promptMessage
	JSON     string
}

type promptMessage struct {
	Role  string
	Lines []promptLine
}

// promptLine is a piece of what a model was shown.
type promptLine struct {
	Kind string // text, reasoning, call, result, other
	Name string
	Text string
	Bad  bool
}

// promptOf reads what a model was shown. What this release does not know of it is in
// the JSON.
func promptOf(p transcript.Prompt) *promptView {
	v := &promptView{Prompt: p, JSON: indented(p.Request)}
	var request struct {
		Model  string `json:"model"`
		System string `json:"system"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Role    string        `json:"role"`
			Parts   []events.Part `json:"parts"`
			Results []struct {
				Name    string        `json:"name"`
				Parts   []events.Part `json:"parts"`
				IsError bool          `json:"is_error"`
			} `json:"results"`
		} `json:"messages"`
	}
	if json.Unmarshal(p.Request, &request) != nil {
		return v
	}
	v.Model, v.System = request.Model, request.System
	for _, t := range request.Tools {
		v.Tools = append(v.Tools, t.Name)
	}
	for _, m := range request.Messages {
		shown := promptMessage{Role: m.Role}
		for i := range m.Parts {
			shown.Lines = append(shown.Lines, promptLineOf(&m.Parts[i]))
		}
		for _, r := range m.Results {
			for i := range r.Parts {
				line := promptLineOf(&r.Parts[i])
				line.Kind, line.Name, line.Bad = "result", r.Name, r.IsError
				shown.Lines = append(shown.Lines, line)
			}
		}
		v.Messages = append(v.Messages, shown)
	}
	return v
}

func promptLineOf(p *events.Part) promptLine {
	switch p.Type {
	case events.PartText:
		return promptLine{Kind: "text", Text: p.Text}
	case events.PartReasoning:
		return promptLine{Kind: "reasoning", Text: p.Text}
	case events.PartCall:
		return promptLine{Kind: "call", Name: p.Name, Text: pretty(p.Arguments)}
	case events.PartImage, events.PartFile, events.PartSource, events.PartProviderCall, events.PartProviderResult, events.PartData:
	}
	return promptLine{Kind: "other", Name: string(p.Type), Text: firstOf(p.Text, p.Name, p.JSON, string(p.Blob))}
}

// absent notes why there is nothing to see, where that is no failure: a model may not
// have been asked yet, and not every installation answers each query.
func (m *moment) absent(err error) error {
	no, isNo := errors.AsType[*protocol.RefusedError](err)
	if !isNo {
		return err
	}
	if no.Code.Info().HTTP == http.StatusNotFound && no.Code == events.CodeUnknownChat {
		return err
	}
	m.State, m.Prompt, m.JSON, m.None = nil, nil, "", no.Detail
	return nil
}
