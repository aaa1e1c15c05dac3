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

// maxWritten is how many parts a program may write, texts included. Of others than texts
// a result shows fewer, see [toolrunner.MaxParts].
const maxWritten = 1_000

// parts reads a list of parts: the texts, joined, and all others. It takes no more memory
// than the output does: a list of millions of parts is no larger than one of pictures.
func parts(output string) (text string, others []toolrunner.Part, err error) {
	d := json.NewDecoder(strings.NewReader(output))
	d.DisallowUnknownFields()
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return "", nil, errors.New("it does not begin with [")
	}
	var texts []string
	for n := 1; d.More(); n++ {
		if n > maxWritten {
			return "", nil, fmt.Errorf("it has more than %d parts", maxWritten)
		}
		var w written
		if err := d.Decode(&w); err != nil {
			return "", nil, err
		}
		if w.Type == "text" {
			texts = append(texts, w.Text)
			continue
		}
		part, err := w.part()
		if err != nil {
			return "", nil, fmt.Errorf("part %d %w", n, err)
		}
		others = append(others, part)
	}
	if _, err := d.Token(); err != nil {
		return "", nil, errors.New("it does not end with ]")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("something follows the list")
	}
	return strings.Join(texts, "\n"), others, nil
}

// part is what a program means that writes w, unless that is a text.
func (w written) part() (toolrunner.Part, error) {
	switch w.Type {
	case "image":
		return toolrunner.Image(w.Name, w.Content), nil
	case "file":
		return toolrunner.File(w.Name, w.MediaType, w.Content), nil
	case "link":
		return toolrunner.Link(w.Title, w.URL), nil
	case "data":
		return toolrunner.Data(w.JSON), nil
	}
	return toolrunner.Part{}, fmt.Errorf("has the type %.20q; want text, image, file, link or data", w.Type)
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
