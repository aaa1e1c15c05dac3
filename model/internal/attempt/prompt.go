package attempt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"charm.land/fantasy"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Shape is what a provider's form can hold.
type Shape struct {
	Provider string // its own content is given back
	Images   bool   // the model takes images

	// ImagesInResults says that an image may stand in a tool's result. Else it
	// follows, as if the user had shown it.
	ImagesInResults bool

	// Own is a provider's own content, such as reasoning, in its form; false
	// if it has none there.
	Own func(events.Part) (fantasy.MessagePart, bool)
}

// Prompt is the request in the library's words. Its first message is that of
// the system, if there is one.
func (s Shape) Prompt(r model.Request) fantasy.Prompt {
	var prompt fantasy.Prompt
	if r.System != "" {
		prompt = append(prompt, fantasy.NewSystemMessage(r.System))
	}
	for _, m := range r.Messages {
		switch m.Role {
		case model.RoleUser:
			prompt = append(prompt, fantasy.Message{Role: fantasy.MessageRoleUser, Content: s.input(m.Parts)})
		case model.RoleAssistant:
			prompt = append(prompt, fantasy.Message{Role: fantasy.MessageRoleAssistant, Content: s.said(m.Parts, r.Model)})
		case model.RoleTool:
			prompt = append(prompt, s.results(m.Results)...)
		}
	}
	return prompt
}

// Instructions is how many messages at the end of the request's prompt stand there
// for this once: at the next step they are behind what is said until then.
func Instructions(r model.Request) int {
	n := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Instruction; i-- {
		n++
	}
	return n
}

func (s Shape) input(parts []events.Part) []fantasy.MessagePart {
	var content []fantasy.MessagePart
	for _, p := range parts {
		if image, ok := s.image(p); ok {
			content = append(content, image)
			continue
		}
		content = append(content, fantasy.TextPart{Text: Plain(p)})
	}
	return content
}

// said is what the assistant said, in order. What belongs to another provider,
// or another model, is left out.
func (s Shape) said(parts []events.Part, name string) []fantasy.MessagePart {
	var content []fantasy.MessagePart
	for _, p := range parts {
		switch p.Type {
		case events.PartCall:
			content = append(content, fantasy.ToolCallPart{ToolCallID: p.ProviderID, ToolName: p.Name, Input: p.Arguments})
		case events.PartReasoning, events.PartProviderCall, events.PartProviderResult:
			if p.Provider != s.Provider || p.Model != name {
				continue
			}
			if own, ok := s.Own(p); ok {
				content = append(content, own)
			}
		case events.PartText, events.PartImage, events.PartFile, events.PartSource, events.PartData:
			content = append(content, fantasy.TextPart{Text: Plain(p)})
		}
	}
	return content
}

// results answers all calls of a step, in one message, and shows what images
// there are and have no place in it in another.
func (s Shape) results(results []model.Result) []fantasy.Message {
	var answers, shown []fantasy.MessagePart
	for _, r := range results {
		var texts []string
		var images []fantasy.FilePart
		for _, p := range r.Parts {
			if image, ok := s.image(p); ok {
				images = append(images, image)
				continue
			}
			texts = append(texts, Plain(p))
		}
		text := strings.Join(texts, "\n")
		answer := fantasy.ToolResultPart{ToolCallID: r.WireID}
		switch {
		case r.IsError:
			answer.Output = fantasy.ToolResultOutputContentError{Error: errors.New(text)}
		case len(images) > 0 && s.ImagesInResults:
			answer.Output = fantasy.ToolResultOutputContentMedia{
				Data: base64.StdEncoding.EncodeToString(images[0].Data), MediaType: images[0].MediaType, Text: text,
			}
			images = images[1:]
		default:
			answer.Output = fantasy.ToolResultOutputContentText{Text: text}
		}
		answers = append(answers, answer)
		if len(images) > 0 {
			shown = append(shown, fantasy.TextPart{Text: fmt.Sprintf("(the result of %s, call %s, shows:)", r.Name, r.WireID)})
		}
		for _, image := range images {
			shown = append(shown, image)
		}
	}
	messages := []fantasy.Message{{Role: fantasy.MessageRoleTool, Content: answers}}
	if len(shown) > 0 {
		messages = append(messages, fantasy.Message{Role: fantasy.MessageRoleUser, Content: shown})
	}
	return messages
}

// image is p as an image, if it is one that the model can be shown. Its bytes
// stand in Opaque, or in a data URL. An image at another address is not fetched,
// and nobody else is asked to: what a chat has seen must not change.
func (s Shape) image(p events.Part) (fantasy.FilePart, bool) {
	if p.Type != events.PartImage || !s.Images {
		return fantasy.FilePart{}, false
	}
	file := fantasy.FilePart{Filename: p.Name, Data: p.Opaque, MediaType: p.MediaType}
	if len(p.Opaque) == 0 {
		head, encoded, _ := strings.Cut(p.URL, ";base64,")
		media, isData := strings.CutPrefix(head, "data:")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if !isData || err != nil {
			return fantasy.FilePart{}, false
		}
		file.Data, file.MediaType = data, media
	}
	// The library leaves out without a word what it does not know.
	return file, len(file.Data) > 0 && len(file.Data) <= model.MaxImageBytes && model.IsImageType(file.MediaType)
}

// Plain is a part as text: what it says, or what it would have shown.
func Plain(p events.Part) string {
	switch p.Type {
	case events.PartText, events.PartReasoning:
		return p.Text
	case events.PartData:
		return p.JSON
	case events.PartImage:
		return "(an image that cannot be shown here" + named(p) + ")"
	case events.PartFile:
		return "(a file that cannot be shown here" + named(p) + ")"
	case events.PartSource:
		return strings.TrimSpace(p.Title + " " + p.URL)
	case events.PartCall, events.PartProviderCall, events.PartProviderResult:
	}
	return ""
}

// named is what there is to tell a part by; of one that is stored all that it takes
// to ask for it.
func named(p events.Part) string {
	var told []string
	switch {
	case p.Name != "":
		told = append(told, p.Name)
	case p.URL != "" && !strings.HasPrefix(p.URL, "data:"):
		told = append(told, p.URL)
	}
	if p.Blob != "" {
		told = append(told, p.MediaType, fmt.Sprintf("%d bytes", p.Bytes), string(p.Blob))
	}
	if len(told) == 0 {
		return ""
	}
	return ": " + strings.Join(told, ", ")
}

// Schema is a tool's schema, with the order of its keys. A tool without one
// takes nothing.
func Schema(t model.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}
