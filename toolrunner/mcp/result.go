package mcp

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
)

// output is a server's result as a call's. Texts are joined; whatever else there is
// becomes a part. A text that only repeats the structured content is left out.
func output(r *mcp.CallToolResult) toolrunner.Output {
	out := toolrunner.Output{IsError: r.IsError}
	var texts []string
	for _, content := range r.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			if r.StructuredContent == nil || !repeats(c.Text, r.StructuredContent) {
				texts = append(texts, c.Text)
			}
		case *mcp.ImageContent:
			out.Parts = append(out.Parts, toolrunner.Image("image", c.Data))
		case *mcp.AudioContent:
			out.Parts = append(out.Parts, toolrunner.File("audio", c.MIMEType, c.Data))
		case *mcp.ResourceLink:
			out.Parts = append(out.Parts, toolrunner.Link(linkTitle(c), c.URI))
		case *mcp.EmbeddedResource:
			text, parts := embedded(c.Resource)
			texts, out.Parts = append(texts, text...), append(out.Parts, parts...)
		default:
			texts = append(texts, fmt.Sprintf("[The server gave something of a kind that is not known here: %T.]", c))
		}
	}
	out.Text = strings.Join(texts, "\n\n")
	if r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil { // it came as JSON
			out.Parts = append(out.Parts, toolrunner.Data(data))
		}
	}
	return out
}

// concealed is an output without secrets of ours, should a server repeat one. What is in
// images and files is not looked into.
func (s *secrets) concealed(out toolrunner.Output) toolrunner.Output {
	out.Text = s.conceal(out.Text)
	for i, p := range out.Parts {
		p.Name, p.Title, p.URL = s.conceal(p.Name), s.conceal(p.Title), s.conceal(p.URL)
		if p.Type == events.PartData {
			p.Content = s.concealJSON(p.Content)
		}
		out.Parts[i] = p
	}
	return out
}

// repeats says whether a text is nothing but the JSON of a value.
func repeats(text string, structured any) bool {
	var value any
	return json.Unmarshal([]byte(text), &value) == nil && reflect.DeepEqual(value, structured)
}

// linkTitle says what is behind a link.
func linkTitle(c *mcp.ResourceLink) string {
	title := c.Title
	if title == "" {
		title = c.Name
	}
	if c.Description != "" {
		title += ": " + c.Description
	}
	if c.MIMEType != "" {
		title += " (" + c.MIMEType + ")"
	}
	return title
}

// embedded is a resource that came with a result: a text, under its address, or a part.
func embedded(r *mcp.ResourceContents) ([]string, []toolrunner.Part) {
	switch {
	case r == nil:
		return nil, nil
	case r.Blob == nil:
		return []string{fmt.Sprintf("[%s]\n%s", r.URI, r.Text)}, nil
	case strings.HasPrefix(r.MIMEType, "image/"):
		return nil, []toolrunner.Part{toolrunner.Image(path.Base(r.URI), r.Blob)}
	}
	return nil, []toolrunner.Part{toolrunner.File(path.Base(r.URI), r.MIMEType, r.Blob)}
}
