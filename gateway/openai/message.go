package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// Roles of messages.
const (
	roleSystem    = "system"
	roleDeveloper = "developer" // is the same
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// roles are all that a message can have.
var roles = []string{roleSystem, roleDeveloper, roleUser, roleAssistant, roleTool}

// message is one of those that a client sends.
type message struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`   // of an assistant
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool's result
}

// toolCall is a call of one of the client's own tools.
type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in a stream
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// piece is a part of a content.
type piece struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image *image `json:"image_url,omitempty"`
}

type image struct {
	URL string `json:"url"`
}

// content is what a message says. In JSON it is a text, a list of parts, or null.
type content []piece

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(b []byte) error {
	*c = nil
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var list []piece
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for i, p := range list {
		switch {
		case p.Type == "text" || p.Type == "refusal":
		case p.Type == "image_url" && p.Image != nil:
		default:
			return errBad("content[%d]: want a text, or an image_url", i)
		}
	}
	*c = list
	return nil
}

// text is the text of c, part after part.
func (c content) text() string {
	var all []string
	for _, p := range c {
		if p.Type == "text" && p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// attachment is an image that came along with a message.
type attachment struct {
	mediaType string
	content   []byte
}

// attachment reads a data URI: nothing is fetched for a client.
func (i image) attachment() (attachment, error) {
	head, data, ok := strings.Cut(i.URL, ",")
	mediaType, isData := strings.CutPrefix(head, "data:")
	mediaType, isBase64 := strings.CutSuffix(mediaType, ";base64")
	if !ok || !isData || !isBase64 {
		return attachment{}, errBad("image_url.url: want data:image/png;base64,… or the like; no address is fetched")
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return attachment{}, errBad("image_url.url: the data is no base64")
	}
	return attachment{mediaType: mediaType, content: b}, nil
}

// part is how the attachment stands in an input, once it was uploaded.
func (a attachment) part(n int, d events.Digest) events.Part {
	_, kind, _ := strings.Cut(a.mediaType, "/")
	return events.Part{
		Type: events.PartImage, MediaType: a.mediaType, Name: fmt.Sprintf("image-%d.%s", n, kind), Bytes: int64(len(a.content)), Blob: d,
	}
}
