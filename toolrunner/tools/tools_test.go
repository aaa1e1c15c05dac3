package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// workspace is a folder with some content, beside one with a secret.
func workspace(t *testing.T) (*tools.Workspace, string) {
	t.Helper()
	top := t.TempDir()
	write(t, filepath.Join(top, "outside", "secret.txt"), "s3cret")
	root := filepath.Join(top, "inside")
	write(t, filepath.Join(root, "readme.md"), "# Title\n\nA line with needle in it.\n")
	write(t, filepath.Join(root, "src", "main.go"), "package main\n\n// Needle, too\nfunc main() {}")
	write(t, filepath.Join(root, "image.png"), "\x89PNG\r\n\x1a\n\x00\x00needle")
	write(t, filepath.Join(root, "latin1.txt"), "caf\xe9 needle\n")
	write(t, filepath.Join(root, "empty"), "")
	write(t, filepath.Join(root, ".git", "index"), "needle")
	link(t, "../outside/secret.txt", filepath.Join(root, "link-out"))
	link(t, filepath.Join(top, "outside"), filepath.Join(root, "link-abs"))
	link(t, "readme.md", filepath.Join(root, "link-in"))
	link(t, "loop", filepath.Join(root, "loop"))
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := tools.OpenWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, root
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func run(ctx context.Context, tool toolrunner.Tool, arguments string) (string, error) {
	out, err := tool.Run(ctx, call(arguments))
	return out.Text, err
}

func call(arguments string) toolrunner.Call {
	return toolrunner.Call{
		Chat:      events.Key{Tenant: "acme", Chat: "c1"},
		ID:        events.CallID{Turn: 1, Step: 1, Ordinal: 1},
		Arguments: json.RawMessage(arguments), Key: "key-1", Progress: func(string) {},
	}
}

// images are pictures of 2 × 2 pixels, by the ends of their media types.
func images(t *testing.T) map[string][]byte {
	t.Helper()
	canvas := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	var asPNG, asJPEG, asGIF bytes.Buffer
	if err := errors.Join(png.Encode(&asPNG, canvas), jpeg.Encode(&asJPEG, canvas, nil), gif.Encode(&asGIF, canvas, nil)); err != nil {
		t.Fatal(err)
	}
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x01\x40\x00\x00" + strings.Repeat("\x00", 8)
	return map[string][]byte{"png": asPNG.Bytes(), "jpeg": asJPEG.Bytes(), "gif": asGIF.Bytes(), "webp": []byte(webp)}
}

func TestManifestsAreValidAndStrict(t *testing.T) {
	t.Parallel()
	w, _ := workspace(t)
	all := slices.Concat(tools.Standard(w, noon), tools.Writing(w), []toolrunner.Tool{tools.AppendLedger("unused"), tools.Wait()})
	for _, tool := range all {
		m := tool.Manifest()
		m.Group = "builtin"
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if err := accepts(m.Schema, `{"surprise":1}`); err == nil {
			t.Errorf("%s: the schema takes arguments it does not know", m.Name)
		}
		if _, err := run(t.Context(), tool, `{"surprise":1}`); err == nil {
			t.Errorf("%s: takes arguments it does not know", m.Name)
		}
		if _, err := run(t.Context(), tool, `{} {}`); err == nil {
			t.Errorf("%s: takes two objects", m.Name)
		}
		policy := events.PolicyAllow
		asks := slices.Contains([]string{"write_file", "edit_file", "move_file", "delete_file"}, m.Name)
		if asks {
			policy = events.PolicyAsk
		}
		if writes := m.Name == "append_ledger" || asks; m.ReadOnly == writes || m.Idempotent == writes || m.Policy != policy {
			t.Errorf("%s: read only %v, idempotent %v, policy %s", m.Name, m.ReadOnly, m.Idempotent, m.Policy)
		}
	}
}

func accepts(schema json.RawMessage, arguments string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func TestSchemasTakeWhatTheToolsTake(t *testing.T) {
	t.Parallel()
	w, _ := workspace(t)
	for name, arguments := range map[string]string{
		"current_time":   `{"zone":"Asia/Tokyo"}`,
		"list_directory": `{"path":"src"}`,
		"read_file":      `{"path":"readme.md","first_line":1,"lines":2}`,
		"search_files":   `{"pattern":"n","path":"src","name":"*.go"}`,
	} {
		at := slices.IndexFunc(tools.Standard(w, noon), func(t toolrunner.Tool) bool { return t.Manifest().Name == name })
		tool := tools.Standard(w, noon)[at]
		if err := accepts(tool.Manifest().Schema, arguments); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := run(t.Context(), tool, arguments); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	secret := filepath.Join(filepath.Dir(root), "outside", "secret.txt")
	for _, path := range []string{
		"../outside/secret.txt", "src/../../outside/secret.txt", secret, "link-out", "link-abs/secret.txt",
		"link-abs", "..", "/", "/etc/passwd", "./../outside", "loop", "pipe", "a\x00b", "src/main.go/..//../..",
		"link-in/../../outside/secret.txt", `..\outside\secret.txt`, "/proc/self/environ", "//etc/passwd",
	} {
		arguments, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []toolrunner.Tool{tools.ReadFile(w), tools.ListDirectory(w)} {
			text, err := run(t.Context(), tool, string(arguments))
			if err == nil {
				t.Errorf("%s of %q gives %q", tool.Manifest().Name, path, text)
				continue
			}
			if !strings.HasPrefix(path, "/") && strings.Contains(err.Error(), filepath.Dir(root)) {
				t.Errorf("the error names a path of the machine: %v", err)
			}
		}
		search, err := json.Marshal(map[string]string{"path": path, "pattern": "s3cret|root"})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := run(t.Context(), tools.SearchFiles(w), string(search)); err == nil {
			t.Errorf("search_files in %q gives %q", path, text)
		}
	}
	if text, err := run(t.Context(), tools.SearchFiles(w), `{"pattern":"s3cret"}`); err != nil || !strings.Contains(text, "Nothing matches") {
		t.Errorf("search over links gives %q, %v", text, err)
	}
}

func TestLinkInsideIsFollowed(t *testing.T) {
	t.Parallel()
	w, _ := workspace(t)
	if text, err := run(t.Context(), tools.ReadFile(w), `{"path":"link-in"}`); err != nil || !strings.HasPrefix(text, "# Title") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCurrentTime(t *testing.T) {
	t.Parallel()
	tool := tools.CurrentTime(noon)
	for arguments, want := range map[string]string{
		`{}`:                       "Sunday, 2026-11-29T12:00:00Z (UTC)",
		`{"zone":"Europe/Berlin"}`: "Sunday, 2026-11-29T13:00:00+01:00 (CET)",
	} {
		if text, err := run(t.Context(), tool, arguments); err != nil || text != want {
			t.Errorf("%s: %q, %v", arguments, text, err)
		}
	}
	for _, zone := range []string{"Mars/Base", "Local", "../etc/passwd", "/etc/localtime"} {
		if text, err := run(t.Context(), tool, `{"zone":"`+zone+`"}`); err == nil {
			t.Errorf("zone %s: %q", zone, text)
		}
	}
}

func TestListDirectory(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	text, err := run(t.Context(), tools.ListDirectory(w), `{}`)
	want := ".git/\nempty (0 bytes)\nimage.png (16 bytes)\nlatin1.txt (12 bytes)\nlink-abs (link)\nlink-in (link)\n" +
		"link-out (link)\nloop (link)\npipe (special)\nreadme.md (35 bytes)\nsrc/\n"
	if err != nil || text != want {
		t.Errorf("got %q, %v", text, err)
	}

	write(t, filepath.Join(root, "odd")+"/two\nlines\x1b[2J", "")
	if text, err = run(t.Context(), tools.ListDirectory(w), `{"path":"odd"}`); err != nil || text != `"two\nlines\x1b[2J" (0 bytes)`+"\n" {
		t.Errorf("odd name: %q, %v", text, err)
	}
	for i := range 510 {
		write(t, filepath.Join(root, "many", "f"+string(rune('a'+i%26))+strings.Repeat("x", i/26)), "")
	}
	if text, err = run(t.Context(), tools.ListDirectory(w), `{"path":"many"}`); err != nil || !strings.HasSuffix(text, "and 10 more entries\n") {
		t.Errorf("many: …%q, %v", text[max(0, len(text)-40):], err)
	}
	for _, path := range []string{"nowhere", "readme.md"} {
		if text, err := run(t.Context(), tools.ListDirectory(w), `{"path":"`+path+`"}`); err == nil {
			t.Errorf("%s: %q", path, text)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, filepath.Join(root, "long.txt"), strings.Repeat("0123456789\n", 10_000))
	write(t, filepath.Join(root, "wide.txt"), strings.Repeat("x", 1<<20)+"\nend")
	for _, tt := range []struct{ name, arguments, want string }{
		{"all of it", `{"path":"readme.md"}`, "# Title\n\nA line with needle in it.\n"},
		{"without a last line break", `{"path":"src/main.go","first_line":4}`, "func main() {}"},
		{"a part says where to go on", `{"path":"readme.md","lines":1}`, "# Title\n\n[more follows: go on with first_line 2]\n"},
		{"the last part does not", `{"path":"readme.md","first_line":3,"lines":1}`, "A line with needle in it.\n"},
		{"nothing", `{"path":"empty"}`, "The file is empty."},
		{"a picture is described", `{"path":"image.png"}`, "image.png is not text: 16 bytes, image/png. It cannot be shown: a broken image/png: unexpected EOF"},
		{"other encodings are described", `{"path":"latin1.txt"}`, "latin1.txt is not text: 12 bytes, text/plain; charset=utf-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if text, err := run(t.Context(), tools.ReadFile(w), tt.arguments); err != nil || text != tt.want {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	t.Run("parts fit and join to the whole", func(t *testing.T) {
		t.Parallel()
		text, err := run(t.Context(), tools.ReadFile(w), `{"path":"long.txt","lines":10000}`)
		if err != nil || len(text) > events.MaxResultBytes || !strings.Contains(text, "go on with first_line") {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
	t.Run("a line that is too long is cut, the next one is there", func(t *testing.T) {
		t.Parallel()
		text, err := run(t.Context(), tools.ReadFile(w), `{"path":"wide.txt"}`)
		if err != nil || len(text) > events.MaxResultBytes || !strings.HasSuffix(text, "x [the rest of this long line was left out]\nend") {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
	for _, arguments := range []string{`{"path":"src"}`, `{"path":"nowhere"}`, `{"path":"readme.md","first_line":99}`, `{"path":"readme.md","lines":-1}`} {
		if text, err := run(t.Context(), tools.ReadFile(w), arguments); err == nil {
			t.Errorf("%s: %q", arguments, text)
		}
	}
}

func TestS12_AFileIsKeptForPeople(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, filepath.Join(root, "large"), strings.Repeat("x", protocol.MaxUploadBytes+1))
	read := func(arguments string) (toolrunner.Output, error) {
		return tools.ReadFile(w).Run(t.Context(), toolrunner.Call{Arguments: json.RawMessage(arguments), Progress: func(string) {}})
	}
	out, err := read(`{"path":"./src/../readme.md","lines":1,"artifact_type":"text/markdown"}`)
	want := toolrunner.Artifact{Title: "readme.md", Type: "text/markdown", Content: []byte("# Title\n\nA line with needle in it.\n")}
	if err != nil || len(out.Artifacts) != 1 || !reflect.DeepEqual(out.Artifacts[0], want) {
		t.Errorf("kept %+v, %v", out.Artifacts, err)
	}
	if !strings.HasPrefix(out.Text, "# Title\n\n[more follows") {
		t.Errorf("read is %q", out.Text)
	}
	if out, err = read(`{"path":"image.png","artifact_type":"image/png"}`); err != nil || len(out.Artifacts) != 1 || len(out.Artifacts[0].Content) != 16 {
		t.Errorf("of a picture %+v is kept, %v", out.Artifacts, err)
	}
	if out, err = read(`{"path":"readme.md"}`); err != nil || len(out.Artifacts) > 0 {
		t.Errorf("without a type %+v is kept, %v", out.Artifacts, err)
	}
	for _, path := range []string{"large", "link-out", "pipe", "src"} {
		if out, err := read(`{"path":"` + path + `","artifact_type":"text/plain"}`); err == nil {
			t.Errorf("%s is kept: %d artifacts", path, len(out.Artifacts))
		}
	}
}

func TestSearchFiles(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, filepath.Join(root, "hits", "many.txt"), strings.Repeat("hit\n", 1000))
	write(t, filepath.Join(root, "hits2", "wide.txt"), strings.Repeat("y", 1<<20)+"\nwide")
	for _, tt := range []struct{ name, arguments, want string }{
		{"in all text files", `{"pattern":"needle"}`, "readme.md:3: A line with needle in it.\n"},
		{"by expression", `{"pattern":"(?i)needle"}`, "readme.md:3: A line with needle in it.\nsrc/main.go:3: // Needle, too\n"},
		{"by name", `{"pattern":"(?i)needle","name":"*.go"}`, "src/main.go:3: // Needle, too\n"},
		{"in one folder", `{"pattern":"main","path":"src"}`, "src/main.go:1: package main\nsrc/main.go:4: func main() {}\n"},
		{"nothing", `{"pattern":"n0where","path":"src"}`, "Nothing matches.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := run(t.Context(), tools.SearchFiles(w), tt.arguments)
			if text, _, _ = strings.Cut(text, "[1 files"); err != nil || text != tt.want {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	if text, err := run(t.Context(), tools.SearchFiles(w), `{"pattern":"hit","path":"hits"}`); err != nil || !strings.Contains(text, "[stopped after 200 matches: make the search narrower]") {
		t.Errorf("many: %v", err)
	}
	if text, err := run(t.Context(), tools.SearchFiles(w), `{"pattern":"wide","path":"hits2"}`); err != nil || !strings.Contains(text, "[1 files or folders could not be searched to their end]") {
		t.Errorf("wide: %q, %v", text, err)
	}
	for _, arguments := range []string{`{"pattern":"("}`, `{"pattern":"x","name":"["}`, `{"pattern":"x","path":"nowhere"}`} {
		if text, err := run(t.Context(), tools.SearchFiles(w), arguments); err == nil {
			t.Errorf("%s: %q", arguments, text)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ended, tools.SearchFiles(w), `{"pattern":"x"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// An expression with thousands of states is matched in proportion to them: whoever wants
// that must not keep a processor for longer than the call has.
func TestNoExpressionKeepsASearchBeyondItsTime(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, filepath.Join(root, "lines.txt"), strings.Repeat(strings.Repeat("x", 2_000)+"\n", 4_000))
	for _, tt := range []struct{ name, pattern, says string }{
		{"too much to do", strings.Repeat(".{0,1000}", 10) + "y", "it takes too long to look for"},
		{"nested", "((x{0,30}){0,30}){1,1}" + strings.Repeat("z?", 400) + "y", "it takes too long to look for"},
		{"as much as may be", ".{0,900}y", "deadline exceeded"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		text, err := run(ctx, tools.SearchFiles(w), fmt.Sprintf(`{"pattern":%q}`, tt.pattern))
		cancel()
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tt.says) || took > time.Minute {
			t.Errorf("%s: %q, %v after %v", tt.name, text, err, took)
		}
	}
}

func TestAppendLedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	if lines, err := tools.ReadLedger(path); err != nil || len(lines) != 0 {
		t.Errorf("no file: %v, %v", lines, err)
	}
	tool := tools.AppendLedger(path)
	for range 2 {
		if text, err := run(t.Context(), tool, `{"text":"two\nlines"}`); err != nil || text == "" {
			t.Errorf("%q, %v", text, err)
		}
	}
	want := tools.LedgerLine{Tenant: "acme", Chat: "c1", Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Key: "key-1", Text: "two\nlines"}
	if lines, err := tools.ReadLedger(path); err != nil || !slices.Equal(lines, []tools.LedgerLine{want, want}) {
		t.Errorf("%+v, %v", lines, err)
	}
	if text, err := run(t.Context(), tool, `{"text":"x","delay_ms":-1}`); err == nil {
		t.Errorf("negative delay: %q", text)
	}
	write(t, path, `{"text":"cut`)
	if _, err := tools.ReadLedger(path); err == nil {
		t.Error("half a line was read")
	}
}

func TestLedgerDelaysEndWithTheCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments string
		lines     int
	}{
		"before the effect": {`{"text":"x","delay_ms":60000}`, 0},
		"after the effect":  {`{"text":"x","linger_ms":60000}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger")
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := run(ctx, tools.AppendLedger(path), tt.arguments); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error: %v", err)
				}
			})
			if lines, err := tools.ReadLedger(path); err != nil || len(lines) != tt.lines {
				t.Errorf("%d lines, want %d: %v", len(lines), tt.lines, err)
			}
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if text, err := run(t.Context(), tools.Wait(), `{"ms":60000}`); err != nil || text != "Waited 60000 ms." || time.Since(began) != time.Minute {
			t.Errorf("%q after %v, %v", text, time.Since(began), err)
		}
		if text, err := run(t.Context(), tools.Wait(), `{"ms":60001}`); err == nil {
			t.Errorf("too long: %q", text)
		}
	})
}

// Tools know the runner they are made for, and nothing that is stored or sent.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "internal/picture", "model", "protocol", "toolrunner", "toolrunner/capture", "toolrunner/sandbox", "toolrunner/web")...)
}
