package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
)

// What becomes of a question of a server.
const (
	accepted = "accept"
	declined = "decline"
	canceled = "cancel"
)

// decline is the first option of each question: it is what is taken if nobody answers.
const decline = "Decline"

// maxFields is how many things a server may ask for at once: as many as one call may.
const maxFields = events.MaxQuestions * events.MaxAsksPerCall

// maxAsking is how many questions of one server are dealt with at once. The calls of a
// runner ask one after the other; a server that asks more is told no.
const maxAsking = 64

// stillAtIt is how long a server may still be at a call that was given up, and ask for it.
const stillAtIt = 15 * time.Minute

// elicit answers the questions of a server by asking whoever follows the chat of the
// call that it asks for. Where it cannot be told which call that is, since calls of
// several chats run at once, it is declined: nobody is asked for another.
func (s *server) elicit(one *session) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if r.Params.Mode != "" && r.Params.Mode != "form" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "only forms can be shown"}
		}
		select {
		case one.asking <- struct{}{}:
			defer func() { <-one.asking }()
		default:
			return &mcp.ElicitResult{Action: declined}, nil
		}
		fields, err := fieldsOf(r.Params.RequestedSchema)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		c, ok := one.asker(ctx)
		if !ok {
			if one.puzzle() {
				s.log.Warn("an MCP server asks a person, and it is not known for which call; it is declined")
			}
			return &mcp.ElicitResult{Action: declined}, nil
		}
		result, err := fill(ctx, c.Ask, s.Name, s.secrets.conceal(r.Params.Message), fields)
		if errors.Is(err, toolrunner.ErrCannotAsk) {
			return &mcp.ElicitResult{Action: declined}, nil
		}
		if err != nil {
			s.log.Warn("a question of an MCP server cannot be asked", "error", s.secrets.hide(err.Error()))
			return &mcp.ElicitResult{Action: canceled}, nil
		}
		return result, nil
	}
}

// puzzle says whether this is the first time that nobody knows for whom a server asks.
func (o *session) puzzle() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = !o.puzzled
	o.puzzled = true
	return first
}

// asker is the call on whose behalf a server asks. Where it does not say so, that is
// known if it has but one, and was at none of another chat a while ago that was given up.
func (o *session) asker(ctx context.Context) (toolrunner.Call, bool) {
	if c, ok := ctx.Value(callKey{}).(toolrunner.Call); ok {
		return c, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) != 1 {
		return toolrunner.Call{}, false
	}
	for _, c := range o.pending {
		for chat, at := range o.left {
			if chat != c.Chat && time.Since(at) <= stillAtIt {
				return toolrunner.Call{}, false
			}
		}
		return c, true
	}
	return toolrunner.Call{}, false
}

// field is one thing that a server asks for.
type field struct {
	name     string
	required bool

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	OneOf       []choice        `json:"oneOf"`
	Default     json.RawMessage `json:"default"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

// choice is a value with words for it.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// fieldsOf reads the schema of a question, in the order of the names: those that are
// required first.
func fieldsOf(schema any) ([]field, error) {
	if schema == nil {
		return nil, nil
	}
	body, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, errors.New("requestedSchema: this is no form of fields")
	}
	if len(form.Properties) > maxFields {
		return nil, fmt.Errorf("requestedSchema: %d fields, at most %d can be asked for", len(form.Properties), maxFields)
	}
	var all []field
	for name, f := range form.Properties {
		f.name, f.required = name, slices.Contains(form.Required, name)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b field) int {
		if a.required != b.required {
			if a.required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	})
	return all, nil
}

// fill asks for all fields, a few at a time, and gives what a server is answered. A
// form without fields asks for a yes.
func fill(ctx context.Context, ask toolrunner.Asking, server, message string, fields []field) (*mcp.ElicitResult, error) {
	if len(fields) == 0 {
		fields = []field{{name: "", Type: "boolean", required: true, Title: "Go on?"}}
	}
	content := map[string]any{}
	for list := range slices.Chunk(fields, events.MaxQuestions) {
		var questions []events.Question
		for i, f := range list {
			questions = append(questions, f.question(fmt.Sprintf("q%d", i+1), server, message))
		}
		reply, err := ask(ctx, questions)
		if err != nil {
			return nil, err
		}
		if reply.Expired {
			return &mcp.ElicitResult{Action: declined}, nil
		}
		for i, f := range list {
			value, ok := f.value(answerTo(reply, questions[i].ID))
			if !ok && f.required {
				return &mcp.ElicitResult{Action: declined}, nil
			}
			if f.name == "" && value != true {
				return &mcp.ElicitResult{Action: declined}, nil
			}
			if ok && f.name != "" {
				content[f.name] = value
			}
		}
	}
	return &mcp.ElicitResult{Action: accepted, Content: content}, nil
}

func answerTo(r toolrunner.Reply, question string) string {
	for _, a := range r.Answers {
		if a.Question == question {
			return a.Text
		}
	}
	return decline
}

// question is the field as a person is asked for it. There is room for two values
// beside the one to decline; any other can be typed.
func (f field) question(id, server, message string) events.Question {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n%s", message, cmp.Or(f.Title, f.name))
	if f.Description != "" {
		text.WriteString(": " + f.Description)
	}
	values := f.values()
	options := []events.Option{{Label: decline, Description: "The server is told that it gets no answer."}}
	if !f.required {
		options[0].Description = "This field stays empty."
	}
	for _, v := range values[:min(len(values), events.MaxOptions-1)] {
		options = append(options, events.Option{Label: cut(v.Title, events.MaxHeaderChars), Description: cut(v.Const, events.MaxOptionChars)})
	}
	switch {
	case len(values) > events.MaxOptions-1:
		var all []string
		for _, v := range values {
			all = append(all, v.Title)
		}
		text.WriteString("\n\nPossible answers: " + strings.Join(all, ", "))
	case len(values) == 0:
		options = append(options, events.Option{Label: typed, Description: "Answer in words of your own."})
		text.WriteString("\n\nAnswer in words of your own.")
	}
	return events.Question{
		ID: id, Header: cut(server+": "+cmp.Or(f.Title, f.name), events.MaxHeaderChars), Text: cut(text.String(), events.MaxQuestionChars), Options: options,
	}
}

// typed is the option that stands where any answer may be typed, since there must be
// two. Whoever takes it has not answered.
const typed = "(type an answer)"

func cut(text string, chars int) string { return events.Shorten(events.RepairText(text), chars) }

// values are the answers that are possible, if they are few.
func (f field) values() (all []choice) {
	named := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i := range named {
		named[i].Title = cmp.Or(named[i].Title, named[i].Const)
	}
	for _, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		named = append(named, choice{Const: value, Title: value})
	}
	if f.Type == "boolean" {
		named = []choice{{Const: "true", Title: "Yes"}, {Const: "false", Title: "No"}}
	}
	return named
}

// value is an answer as the field has it, and whether there is one.
func (f field) value(answer string) (any, bool) {
	answer = strings.TrimSpace(answer)
	if answer == "" || answer == decline || answer == typed {
		return nil, false
	}
	values := f.values()
	if f.Type == "array" {
		chosen := []string{}
		for part := range strings.SplitSeq(answer, ",") {
			v, ok := among(values, strings.TrimSpace(part))
			if !ok {
				return nil, false
			}
			chosen = append(chosen, v)
		}
		return chosen, true
	}
	if len(values) > 0 {
		v, ok := among(values, answer)
		if f.Type == "boolean" {
			return v == "true", ok
		}
		return v, ok
	}
	switch f.Type {
	case "integer":
		n, err := strconv.ParseInt(answer, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		return n, err == nil
	}
	return answer, true
}

// among is the value that an answer means.
func among(values []choice, answer string) (string, bool) {
	for _, v := range values {
		if strings.EqualFold(answer, cut(v.Title, events.MaxHeaderChars)) || strings.EqualFold(answer, v.Const) {
			return v.Const, true
		}
	}
	return "", false
}
