package models

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// asked is a request that came to a provider.
type asked struct {
	path   string
	header http.Header
	body   string
}

// provider is asked, and has nothing to say.
func provider(t *testing.T) (url string, requests chan asked) {
	t.Helper()
	requests = make(chan asked, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- asked{path: r.URL.Path, header: r.Header.Clone(), body: string(body)}
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// What a file says of a model is what its provider is asked.
func TestWhatTheFileSaysIsAsked(t *testing.T) {
	t.Parallel()
	picture := events.Part{Type: events.PartImage, MediaType: "image/png", Opaque: []byte("\x89PNG"), Name: "a.png"}
	request := model.Request{
		Tools:    []model.Tool{{Name: "look"}},
		Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text("hello"), picture}}},
	}
	const (
		noImage = "(an image that cannot be shown here: a.png)"
		image   = "iVBORw" // the beginning of a PNG, encoded
	)
	for _, tt := range []struct {
		name, entry string
		path        string
		header, key string
		fields      map[string]any
		has, hasNot []string
	}{
		{
			name: "Anthropic", entry: "provider: anthropic, base_url: URL, api_key_env: KEY, model: theirs, defaults: {max_output_tokens: 99, thinking_tokens: 2048}",
			path: "/v1/messages", header: "X-Api-Key", key: "of the test",
			fields: map[string]any{"model": "theirs", "max_tokens": 99.0 + 2048, "thinking": map[string]any{"type": "enabled", "budget_tokens": 2048.0}},
			has:    []string{`"look"`, image},
		},
		{
			name: "Anthropic's format at a gateway", entry: "provider: anthropic, base_url: URL, api_key_env: KEY, bearer: true, abilities: {images: false}, defaults: {effort: low}",
			path: "/v1/messages", header: "Authorization", key: "Bearer of the test",
			fields: map[string]any{"model": "mine", "output_config": map[string]any{"effort": "low"}},
			has:    []string{noImage},
		},
		{
			name: "OpenAI", entry: "provider: openai, base_url: URL/v1, api_key_env: KEY, model: theirs, defaults: {max_output_tokens: 99, effort: low}",
			path: "/v1/chat/completions", header: "Authorization", key: "Bearer of the test",
			fields: map[string]any{"model": "theirs", "max_tokens": 99.0, "reasoning_effort": "low"},
			has:    []string{`"look"`, image},
		},
		{
			name: "a server of one's own", entry: "provider: openai-compatible, base_url: URL/v1, abilities: {images: false, tools: false}",
			path: "/v1/chat/completions", header: "Authorization", key: "",
			fields: map[string]any{"model": "mine", "max_tokens": nil},
			has:    []string{noImage}, hasNot: []string{`"look"`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, requests := provider(t)
			file := "models: [{name: mine, " + strings.ReplaceAll(tt.entry, "URL", url) + "}]"
			s, err := Parse("models.yaml", []byte(file), func(name string) string { return map[string]string{"KEY": "of the test"}[name] })
			if err != nil {
				t.Fatal(err)
			}
			m, _ := s.Find("mine")
			for _, err := range m.Stream(t.Context(), request) {
				if err == nil {
					t.Error("an answer to a request that was refused")
				}
			}
			got := <-requests
			if got.path != tt.path || got.header.Get(tt.header) != tt.key {
				t.Errorf("asked at %s with %q", got.path, got.header.Get(tt.header))
			}
			var body map[string]any
			if err := json.Unmarshal([]byte(got.body), &body); err != nil {
				t.Fatal(err)
			}
			for field, want := range tt.fields {
				if diff := cmp.Diff(want, body[field]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", field, diff)
				}
			}
			for _, text := range tt.has {
				if !strings.Contains(got.body, text) {
					t.Errorf("%s is not in %s", text, got.body)
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(got.body, text) {
					t.Errorf("%s is in %s", text, got.body)
				}
			}
		})
	}
}
