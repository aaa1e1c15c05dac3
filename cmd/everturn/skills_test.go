package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli"
)

// skillFolder makes a folder of skills with one of that name and text.
func skillFolder(t *testing.T, name, text string) string {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Join(folder, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("---\nname: %s\ndescription: About %s.\n---\n", name, name)
	for file, content := range map[string]string{"SKILL.md": head + text + "\n", "docs/more.md": "More of " + text} {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(file)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// views is a model that reads the skill pdf, and a file of it, and says what is in it.
const views = `
rules:
  - when: {input: look, step: 1, offers: view_skill}
    answer: [{call: {name: view_skill, arguments: '{"name": "pdf", "path": "docs/more.md"}'}}]
  - when: {input: look}
    answer: [{text: "it says: {{result}}"}]
  - answer: [{text: "you said: {{input}}"}]
`

func TestS12_SkillsAreKeptViewedAndActivated(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "views.yaml")
	if err := os.WriteFile(script, []byte(views), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script, "--skills", skillFolder(t, "pdf", "Fill it in."))
	does := func(code int, words string, args ...string) ran {
		t.Helper()
		r := b.command("", args...)
		said := r.out
		if r.failure != nil {
			said += r.failure.Error()
		}
		if r.code != code || !strings.Contains(said, words) {
			t.Errorf("%v: exit code %d: %s\nwant %d and %q", args, r.code, said, code, words)
		}
		return r
	}
	csv := skillFolder(t, "csv", "Read it.")
	does(0, "pdf   ", "skills")
	does(0, "skill csv: created\n", "skills", "put", csv)
	does(0, "skill csv: unchanged\n", "skills", "put", filepath.Join(csv, "csv"))
	does(0, `{"name":"csv","action":"changed"}`, "skills", "put", "--json", skillFolder(t, "csv", "Read it all."))
	does(0, "Read it all.\n\nFiles of this skill", "skills", "show", "csv")
	does(0, "More of Read it all.", "skills", "show", "csv", "docs/more.md")
	does(0, `"files":[{"path":"docs/more.md"`, "skills", "show", "csv", "--json")
	does(0, `{"name":"csv","description":"About csv."`, "skills", "list", "--json")
	does(0, "DESCRIPTION\n", "skills", "list", "--tenant", "nobody")
	does(cli.ExitNotFound, `there is no skill "xls"`, "skills", "show", "xls")
	does(cli.ExitNotFound, `has no file "x"`, "skills", "show", "csv", "x")
	does(cli.ExitUsage, "SKILL.md:1:1: want ---", "skills", "put", bareFolder(t))

	does(0, "", "send", "--chat", "c1", "look")
	b.command("", "tail", "c1", "--until-idle")
	does(0, "it says: More of Fill it in.", "transcript", "c1")
	does(0, `# Skills`, "prompt", "c1", "1.1", "--json")
	does(0, "", "send", "--chat", "c1", "do it with $pdf")
	b.command("", "tail", "c1", "--until-idle")
	does(0, "the model reads the skill pdf", "transcript", "c1")
	does(0, "you said: do it with $pdf", "transcript", "c1")
	does(0, `skill.activated.v1          {"step":"2.1","skill":"pdf"`, "log", "c1")
	does(0, "Fill it in.", "prompt", "c1", "2.1")
	does(0, "", "verify", "c1")
	does(0, "", "replay", "c1")

	// What a chat has read is its own: it goes along, and stays when nobody keeps it.
	file := filepath.Join(t.TempDir(), "c1.jsonl")
	does(0, "skill pdf: forgotten\n", "skills", "forget", "pdf")
	does(cli.ExitNotFound, `there is no skill "pdf"`, "skills", "forget", "pdf")
	does(0, "", "export", "c1", "--out", file)
	does(0, "", "import", file, "--id", "c2")
	does(0, "", "fork", "c1", "--id", "c3")
	for _, chat := range []string{"c2", "c3"} {
		does(0, "", "send", "--chat", chat, "and now?")
		b.command("", "tail", chat, "--until-idle")
		does(0, "you said: and now?", "transcript", chat)
		does(0, "Fill it in.", "prompt", chat, "3.1")
		does(0, "", "verify", chat)
	}
	does(0, "", "erase", "c2", "--yes")
}

// bareFolder is one whose SKILL.md has no front matter.
func bareFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "bare")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte("# x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestS12_NoTenantHasMoreSkillsThanATurnHasRoomFor(t *testing.T) {
	t.Parallel()
	b := dev(t)
	root := t.TempDir()
	for n := range 65 {
		name := fmt.Sprintf("s%02d", n)
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: d\n---\nx\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := b.command("", "skills", "put", root)
	if r.code != cli.ExitUsage || !strings.Contains(r.failure.Error(), "would have 65 skills") {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	if r := b.command("", "skills", "list", "--json"); r.out != "" {
		t.Errorf("kept all the same: %s", r.out)
	}
	for line := range strings.Lines(b.command("", "skills", "put", filepath.Join(root, "s00"), "--json").out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}
