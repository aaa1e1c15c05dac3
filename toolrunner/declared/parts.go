package declared

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/everturn/everturn/toolrunner"
)

// written is a part of a result as a program of [FormatParts] writes it.
type written struct {
	Type      string          `json:"type"` // text, image, file, link or data
	Text      string          `json:"text"`
	Name      string          `json:"name"`
	MediaType string          `json:"media_type"`
	Content   []byte          `json:"content"` // in base64
	Title     string          `json:"title"`
	URL       string          `json:"url"`
	JSON      json.RawMessage `json:"json"`
}

// parts reads a list of parts: the texts, joined, and all others.
func parts(output string) (text string, others []toolrunner.Part, err error) {
	d := json.NewDecoder(strings.NewReader(output))
	d.DisallowUnknownFields()
	var list []written
	if err := d.Decode(&list); err != nil {
		return "", nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("something follows the list")
	}
	var texts []string
	for i, w := range list {
		switch w.Type {
		case "text":
			texts = append(texts, w.Text)
		case "image":
			others = append(others, toolrunner.Image(w.Name, w.Content))
		case "file":
			others = append(others, toolrunner.File(w.Name, w.MediaType, w.Content))
		case "link":
			others = append(others, toolrunner.Link(w.Title, w.URL))
		case "data":
			others = append(others, toolrunner.Data(w.JSON))
		default:
			return "", nil, fmt.Errorf("part %d has the type %.20q; want text, image, file, link or data", i+1, w.Type)
		}
	}
	return strings.Join(texts, "\n"), others, nil
}

// noText is the result of a program that has written what is no text: a picture is
// shown, and all else is kept as a file.
func noText(tool, output string, dropped int64) toolrunner.Output {
	kind, _, _ := strings.Cut(http.DetectContentType([]byte(output)), ";")
	if dropped > 0 {
		return toolrunner.Output{Text: fmt.Sprintf("[The output is not text: %s. It is not kept: %d bytes are too much.]", kind, int64(len(output))+dropped)}
	}
	part := toolrunner.File(tool, kind, []byte(output))
	if strings.HasPrefix(kind, "image/") {
		part = toolrunner.Image(tool, []byte(output))
	}
	return toolrunner.Output{Text: fmt.Sprintf("[The output is not text: %d bytes, %s.]", len(output), kind), Parts: []toolrunner.Part{part}}
}
