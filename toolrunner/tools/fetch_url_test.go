package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

// fetches is fetch_url, allowed to ask a real server on loopback.
func fetches(t *testing.T, handle http.HandlerFunc) (tool toolrunner.Tool, url string) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	list, err := tools.FetchConfig{Fetch: true, FetchAllow: []string{s.Listener.Addr().String()}}.Open()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	return list[0], s.URL
}

func TestFetchURL(t *testing.T) {
	t.Parallel()
	pictures := images(t)
	for _, tt := range []struct {
		name, media, content string
		want                 string // behind the address
		shows                string // media type of an image
	}{
		{"a page", "text/html", `<title>T</title><script>no</script><p>See <a href="/x">x</a>.`, "Title: T\n\nSee x (URL/x).", ""},
		{"a page in another encoding", "text/html; charset=iso-8859-1", "Gr\xfc\xdfe", "\nGrüße", ""},
		{"text", "text/plain", "a < b\n", "\na < b\n", ""},
		{"JSON", "application/json", `{"a": 1}`, "\n" + `{"a": 1}`, ""},
		{"JSON of a kind", "application/problem+json", `{"a": 1}`, "\n" + `{"a": 1}`, ""},
		{"a drawing is text", "image/svg+xml", `<svg/>`, "\n<svg/>", ""},
		{"nothing", "text/plain", "", "It is empty.\n", ""},
		{"an image", "image/png", string(pictures["png"]), fmt.Sprintf("image/png, 2 × 2 pixels, %d bytes\n", len(pictures["png"])), "image/png"},
		{"an image whatever is said", "text/html", string(pictures["gif"]), fmt.Sprintf("image/gif, 2 × 2 pixels, %d bytes\n", len(pictures["gif"])), "image/gif"},
		{"an image that is none", "image/png", "\x89PNG\r\n\x1a\n\x00", "This is no text: image/png, 9 bytes. It is not shown.\n", ""},
		{"what is binary", "application/pdf", "%PDF-1.7\x00\xff", "This is no text: application/pdf, 10 bytes. It is not shown.\n", ""},
		{"what is binary whatever is said", "text/plain", "\x7fELF\x00", "This is no text: text/plain, 5 bytes. It is not shown.\n", ""},
		{"text whatever is said", "application/octet-stream", "hello", "\nhello", ""},
		{"broken UTF-8", "text/plain; charset=utf-8", "a\xff\xfeb", "\na\ufffd\ufffdb", ""},
		{"orders to a terminal", "text/plain", "a\x1b]0;owned\x07b", "\n" + events.RepairText("a\x1b]0;owned\x07b"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool, url := fetches(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				_, _ = io.WriteString(w, tt.content)
			})
			out, err := tool.Run(t.Context(), call(`{"url":"`+url+`/page.png"}`))
			if want := url + "/page.png\n" + strings.ReplaceAll(tt.want, "URL", url); err != nil || out.Text != want || out.IsError {
				t.Errorf("got %q, %v, want %q", out.Text, err, want)
			}
			if len(out.Parts) > 1 || (tt.shows != "") != (len(out.Parts) == 1 && bytes.Equal(out.Parts[0].Content, []byte(tt.content))) {
				t.Errorf("shown are %d parts", len(out.Parts))
			}
		})
	}
}

func TestLongPagesComeInPortions(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("zwölf Boxkämpfer ", 5_000)
	tool, url := fetches(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	var read strings.Builder
	for offset, rounds := 0, 0; ; rounds++ {
		got, err := run(t.Context(), tool, fmt.Sprintf(`{"url":%q,"offset":%d}`, url, offset))
		if err != nil || len(got) > events.MaxResultBytes || rounds > 10 {
			t.Fatalf("%d bytes after %d rounds, %v", len(got), rounds, err)
		}
		_, got, _ = strings.Cut(got, "\n\n")
		part, more, follows := strings.Cut(got, "\n[more follows: go on with offset ")
		read.WriteString(part)
		if !follows {
			break
		}
		if _, err := fmt.Sscanf(more, "%d]", &offset); err != nil {
			t.Fatal(err)
		}
	}
	if read.String() != text {
		t.Errorf("%d bytes were read, want %d", read.Len(), len(text))
	}
	if got := must(run(t.Context(), tool, fmt.Sprintf(`{"url":%q,"offset":9999999}`, url))); !strings.HasSuffix(got, "[the text has only 95000 bytes]\n") {
		t.Errorf("behind the end: %q", got)
	}
	wide, url := fetches(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("w", 2<<20)) })
	if got, err := run(t.Context(), wide, `{"url":"`+url+`"}`); err != nil || len(got) > events.MaxResultBytes {
		t.Errorf("of a line of 2 MB %d bytes, %v", len(got), err)
	}
}

func TestWhatIsNotFetchedWell(t *testing.T) {
	t.Parallel()
	tool, url := fetches(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			http.Error(w, "no such page", http.StatusNotFound)
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 6<<20))
		case "/short":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		}
	})
	for path, says := range map[string]string{
		"/404":   "\nThe server answered 404 Not Found.\n\nno such page\n",
		"/large": "\n[Only the first 5242880 bytes were fetched.]\n\nxxx",
		"/short": "\n[The connection broke off; there may be more.]\n\nshort",
	} {
		out, err := tool.Run(t.Context(), call(`{"url":"`+url+path+`"}`))
		if err != nil || !strings.Contains(out.Text, says) || out.IsError != (path == "/404") {
			t.Errorf("%s: %.200q, error %v, %v", path, out.Text, out.IsError, err)
		}
	}
	for _, arguments := range []string{`{}`, `{"url":""}`, `{"url":"http://127.0.0.1:1/"}`, `{"url":"` + url + `","offset":-1}`, `{"url":"file:///etc/passwd"}`} {
		if text, err := run(t.Context(), tool, arguments); err == nil {
			t.Errorf("%s: %q", arguments, text)
		}
	}
}

func TestFetchURLIsOfferedToWhomSaysSo(t *testing.T) {
	t.Parallel()
	if list, err := (tools.FetchConfig{FetchTime: time.Minute}).Open(); err != nil || len(list) != 0 {
		t.Errorf("unasked: %d tools, %v", len(list), err)
	}
	tool, _ := fetches(t, nil)
	m := tool.Manifest()
	m.Group = "builtin"
	if err := m.Validate(); err != nil || !m.ReadOnly || !m.Idempotent || m.Policy != events.PolicyAllow {
		t.Errorf("%+v, %v", m, err)
	}
	if err := accepts(m.Schema, `{"url":"https://example.com","offset":1}`); err != nil {
		t.Error(err)
	}
	if err := accepts(m.Schema, `{"url":"https://example.com","method":"POST"}`); err == nil || !json.Valid(m.Schema) {
		t.Error("the schema takes what the tool does not know")
	}
	for says, c := range map[string]tools.FetchConfig{
		"want a name":                     {Fetch: true, FetchAllow: []string{"http://x"}},
		"nothing is fetched without":      {FetchAllow: []string{"wiki.example"}},
		"--fetch-time: want 1s to 10m0s":  {Fetch: true, FetchTime: time.Hour},
		"--fetch-time: want 1s to 10m0s ": {Fetch: true, FetchTime: time.Millisecond},
	} {
		if _, err := c.Open(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
