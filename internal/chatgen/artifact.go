package chatgen

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ArgumentsArtifact is what a model says that wants a text kept under a title.
func ArgumentsArtifact(title, content string) string {
	b, err := json.Marshal(map[string]string{"title": title, "type": "text/markdown", "content": content})
	if err != nil {
		panic(fmt.Sprintf("chatgen: arguments without JSON: %v", err)) // plain texts only
	}
	return string(b)
}

// Makes reports that a call was successful and made texts with those titles for
// people to keep.
func (c *Chat) Makes(call events.CallID, titles ...string) chat.Decision {
	return c.Handle(c.makes(call, titles...))
}

func (c *Chat) makes(call events.CallID, titles ...string) chat.Result {
	m := result(call, events.ToolOK, "done")
	for i, title := range titles {
		content := fmt.Appendf(nil, "%d of %s", i, call)
		a := protocol.Artifact{Title: title, Type: "text/plain", Digest: events.DigestOf(content), Bytes: int64(len(content))}
		c.Blobs[a.Digest] = content
		m.Artifacts = append(m.Artifacts, a)
	}
	return m
}

// made are results with artifacts, among them some that are not kept.
func (d *Driver) made(call events.CallID) chat.Result {
	titles := []string{"Plan", "src/a.go", "../b", "Drawing", "", "\x1b[2J", strings.Repeat("long", 60)}
	return d.makes(call, titles[d.chance.IntN(len(titles)):]...)
}

// artifact is what a model may want kept, or what cannot be.
func (d *Driver) artifact() string {
	content := d.text()
	if d.yes(50) {
		content = strings.Repeat("long ", events.MaxInlineBytes/4)
	}
	return ArgumentsArtifact([]string{"Plan", "Plan", " Plan\n", "Drawing", "a\x00b", "", strings.Repeat("long", 60)}[d.chance.IntN(7)], content)
}
