package chatgen

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// ArgumentsArtifact is what a model says that wants a text kept under a title.
func ArgumentsArtifact(title, content string) string {
	b, err := json.Marshal(map[string]string{"title": title, "type": "text/markdown", "content": content})
	if err != nil {
		panic(fmt.Sprintf("chatgen: arguments without JSON: %v", err)) // plain texts only
	}
	return string(b)
}

// artifact is what a model may want kept, or what cannot be.
func (d *Driver) artifact() string {
	content := d.text()
	if d.yes(50) {
		content = strings.Repeat("long ", events.MaxInlineBytes/4)
	}
	return ArgumentsArtifact([]string{"Plan", "Plan", " Plan\n", "Drawing", "a\x00b", "", strings.Repeat("long", 60)}[d.chance.IntN(7)], content)
}
