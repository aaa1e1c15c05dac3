package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol"
)

// drawing writes a small PNG and gives its path and bytes.
func drawing(t *testing.T, name string) (path string, content []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 5, 4))); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b.Bytes()
}

func TestFilesGoAlongWithAText(t *testing.T) {
	t.Parallel()
	b := dev(t)
	picture, content := drawing(t, "boat, at sea.png")
	notes := filepath.Join(t.TempDir(), "notes.json")
	if err := os.WriteFile(notes, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sent := b.command("", "send", "--chat", "c1", "--json", "look at this", "--attach", picture, "--attach", notes)
	if sent.code != 0 {
		t.Fatalf("code %d: %v", sent.code, sent.failure)
	}
	says(t, "what send prints", sent.out, `"chat":"c1"`, `"turn":1`)
	tail := b.command("", "tail", "c1", "--until-idle", "--json")
	says(t, "the end of the turn", tail.out, `"status":"completed"`)
	shown := b.command("", "transcript", "c1")
	line := fmt.Sprintf("<image boat, at sea.png, image/png, %d bytes>", len(content))
	says(t, "the transcript", shown.out, "look at this", line, "<file notes.json, application/json, 7 bytes>")
	asJSON := b.command("", "transcript", "c1", "--json")
	says(t, "the transcript as JSON", asJSON.out, `"type":"image"`, `"media_type":"image/png"`, `"blob":"sha256:`)
	prompt := b.command("", "prompt", "c1", "1.1")
	if prompt.code != 0 {
		t.Errorf("prompt: code %d: %v", prompt.code, prompt.failure)
	}
	says(t, "the prompt", prompt.out, `"type": "image"`, `"blob": "sha256:`)
	for _, audit := range []string{"verify", "replay"} {
		if r := b.command("", audit, "c1"); r.code != 0 {
			t.Errorf("%s: code %d: %v\n%s", audit, r.code, r.failure, r.out)
		}
	}
}

func TestFilesGoAlongWithALineOfAChat(t *testing.T) {
	t.Parallel()
	b := dev(t)
	picture, content := drawing(t, "boat.png")
	r := b.command("/attach "+picture+"\nlook\nand without\n", "chat", "--chat", "c1")
	line := fmt.Sprintf("<image boat.png, image/png, %d bytes>", len(content))
	if want := "  " + line + "\nyou said: look\nyou said: and without\n"; r.code != 0 || r.out != want {
		t.Errorf("code %d, out %q, want %q: %v", r.code, r.out, want, r.failure)
	}
	says(t, "standard error", r.err, line+" goes along with the next line")
	if n := strings.Count(b.command("", "transcript", "c1").out, line); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
	missing := b.command("/attach "+picture+".none\nlook\n", "chat", "--chat", "c1")
	if missing.code == 0 || strings.Contains(missing.out, "you said") {
		t.Errorf("a script goes on without its file: code %d, %q", missing.code, missing.out)
	}
}

func TestFilesThatCannotGoAlong(t *testing.T) {
	t.Parallel()
	b := dev(t)
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(folder, "none.png"): "none.png",
		folder:                            "directory",
		write("empty.png", nil):           "is empty",
		write("huge.bin", make([]byte, protocol.MaxUploadBytes+1)):  "more than",
		write("broken.png", []byte("\x89PNG\r\n\x1a\nand no more")): "broken image/png",
	} {
		r := b.command("", "send", "look", "--attach", path)
		if r.code == 0 || !strings.Contains(fmt.Sprint(r.failure), want) {
			t.Errorf("%s: code %d, %v", filepath.Base(path), r.code, r.failure)
		}
	}
}

// hear is a provider of both formats that keeps the requests it gets.
func hear(t *testing.T) (url string, bodies <-chan string) {
	t.Helper()
	heard := make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("request: %v", err)
		}
		heard <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, map[string]string{"/v1/messages": anthropicText, "/v1/chat/completions": openAIText}[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s.URL, heard
}

// A picture goes from a file to the bytes of a request, in the form of each
// provider; a model that sees nothing is told what it could ask for.
func TestAPictureOnTheWire(t *testing.T) {
	t.Parallel()
	url, bodies := hear(t)
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(`
models:
  - {name: theirs, provider: anthropic, base_url: "`+url+`"}
  - {name: others, provider: openai-compatible, base_url: "`+url+`/v1"}
  - {name: blind, provider: openai-compatible, base_url: "`+url+`/v1", abilities: {images: false}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--models", models)
	path, content := drawing(t, "boat.png")
	encoded := base64.StdEncoding.EncodeToString(content)
	for model, want := range map[string]string{
		"theirs": `"source":{"data":"` + encoded + `","media_type":"image/png","type":"base64"},"type":"image"}`,
		"others": `{"image_url":{"url":"data:image/png;base64,` + encoded + `"},"type":"image_url"}`,
		"blind":  fmt.Sprintf("(an image that cannot be shown here: boat.png, image/png, %d bytes, sha256:", len(content)),
	} {
		if r := b.command("", "send", "--chat", model, "--model", model, "what is this?", "--attach", path); r.code != 0 {
			t.Fatalf("%s: code %d: %v", model, r.code, r.failure)
		}
		body := <-bodies
		if !strings.Contains(sorted(t, body), want) || !strings.Contains(body, "what is this?") {
			t.Errorf("%s was sent %s", model, body)
		}
		if model == "blind" && strings.Contains(body, encoded) {
			t.Errorf("a model that sees nothing was sent the picture")
		}
		if r := b.command("", "tail", model, "--until-idle"); r.code != 0 {
			t.Errorf("%s: code %d: %v", model, r.code, r.failure)
		}
		if r := b.command("", "replay", model); r.code != 0 {
			t.Errorf("%s: replay: code %d: %v\n%s", model, r.code, r.failure, r.out)
		}
	}
}

// sorted is JSON with the keys of its objects in order.
func sorted(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
