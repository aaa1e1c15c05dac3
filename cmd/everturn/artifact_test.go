package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// keeps is a model that keeps a text for the person it talks to.
const keeps = `
rules:
  - when: {input: write, step: 1}
    answer: [{call: {name: create_artifact, arguments: '{"title": "A list", "type": "text/markdown", "content": "- milk\n- bread\n"}'}}]
  - answer: [{text: "there it is"}]
`

func TestS12_AnArtifactIsListedAndDownloaded(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "keeps.yaml")
	if err := os.WriteFile(script, []byte(keeps), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script)
	const content = "- milk\n- bread\n"
	digest := string(events.DigestOf([]byte(content)))
	line := "<artifact A list, version 1, text/markdown, 15 bytes, " + digest + ">"
	r := b.command("write\n", "chat", "--chat", "c1", "--tools", "create_artifact")
	if r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "the chat", r.out, line, "there it is")
	shown := b.must("transcript", "c1").out
	says(t, "the transcript", shown, "-> create_artifact  [1.1.1 ok]", line)
	if strings.Contains(shown, "milk") {
		t.Errorf("the transcript is full of what was kept apart from it:\n%s", shown)
	}
	if out := b.must("artifacts", "c1").out; out != line+"\n" {
		t.Errorf("listed is %q", out)
	}
	says(t, "the list as JSON", b.must("artifacts", "c1", "--json").out, `"title":"A list"`, `"version":1`, `"digest":"`+digest, `"call":"1.1.1"`)
	if out := b.must("download", "c1", digest).out; out != content {
		t.Errorf("downloaded is %q", out)
	}
	file := filepath.Join(t.TempDir(), "list.md")
	b.must("download", "c1", digest, "--out", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != content {
		t.Errorf("the file has %q, %v", got, err)
	}
	for args, code := range map[string]int{"c1 nothing": 2, "nobody " + digest: 3, "c1 " + string(events.DigestOf(nil)): 3} {
		if r := b.command("", append([]string{"download"}, strings.Fields(args)...)...); r.code != code {
			t.Errorf("download %s: code %d, want %d: %v", args, r.code, code, r.failure)
		}
	}
	says(t, "why", b.must("why", "c1", "4").out, "call 1.1.1: ok, version 1 of A list")
	exported := filepath.Join(t.TempDir(), "c1.export")
	b.must("export", "c1", "--out", exported)
	b.must("import", exported, "--id", "c2")
	if out := b.must("artifacts", "c2").out; out != line+"\n" {
		t.Errorf("the import has %q", out)
	}
	if out := b.must("download", "c2", digest, "--out", "-").out; out != content {
		t.Errorf("downloaded from the import is %q", out)
	}
	for _, audit := range []string{"verify", "replay"} {
		if r := b.command("", audit, "c1"); r.code != 0 {
			t.Errorf("%s: code %d: %v\n%s", audit, r.code, r.failure, r.out)
		}
	}
}

// readsAndKeeps is a model that has a file kept which it reads.
const readsAndKeeps = `
rules:
  - when: {step: 1}
    answer: [{call: {name: read_file, arguments: '{"path": "out/map.svg", "artifact_type": "image/svg+xml"}'}}]
  - answer: [{text: "there it is"}]
`

func TestS12_AFileOfTheWorkspaceIsKept(t *testing.T) {
	t.Parallel()
	const content = "<svg/>"
	folder := t.TempDir()
	script := filepath.Join(folder, "keeps.yaml")
	if err := errors.Join(
		os.WriteFile(script, []byte(readsAndKeeps), 0o600),
		os.Mkdir(filepath.Join(folder, "out"), 0o700),
		os.WriteFile(filepath.Join(folder, "out", "map.svg"), []byte(content), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script, "--workspace", folder)
	digest := string(events.DigestOf([]byte(content)))
	b.must("send", "--chat", "c1", "draw")
	b.must("send", "--chat", "c1", "again")
	line := "<artifact out/map.svg, version 1, image/svg+xml, 6 bytes, " + digest + ">\n"
	if out := b.must("artifacts", "c1").out; out != line+strings.Replace(line, "version 1", "version 2", 1) {
		t.Errorf("listed is %q", out)
	}
	says(t, "the transcript", b.must("transcript", "c1").out, "version 2, image/svg+xml", "<svg/>")
	if out := b.must("download", "c1", digest).out; out != content {
		t.Errorf("downloaded is %q", out)
	}
	for _, audit := range []string{"verify", "replay"} {
		if r := b.command("", audit, "c1"); r.code != 0 {
			t.Errorf("%s: code %d: %v\n%s", audit, r.code, r.failure, r.out)
		}
	}
}
