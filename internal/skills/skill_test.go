package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/skills"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "chat", "internal/yamlfile")...)
}

const whole = `---
name: pdf
description: >
  Fills in forms. Use it whenever
  somebody has a form.
license: MIT
metadata:
  version: "1.0"
allowed-tools: [read_file]
---

# Forms

Run scripts/fill.py.
`

// folder makes a folder of that name with those files.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	for name, content := range files {
		file := filepath.Join(path, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestS12_AFolderWithSKILLMDIsASkill(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789\n", 4000)
	list, err := skills.Load(folder(t, "pdf", map[string]string{
		"SKILL.md": whole, "scripts/fill.py": "print(1)\n", "logo.png": "\x89PNG\x00", "long.md": long, ".git/config": "x", ".DS_Store": "x",
	}))
	if err != nil || len(list) != 1 {
		t.Fatalf("read %+v, %v", list, err)
	}
	skill := list[0]
	if skill.Name != "pdf" || skill.Description != "Fills in forms. Use it whenever somebody has a form." {
		t.Errorf("it is %q: %q", skill.Name, skill.Description)
	}
	text := string(skill.Texts[skill.Digest])
	want := "# Forms\n\nRun scripts/fill.py.\n\nFiles of this skill, which view_skill shows by their path:\n" +
		"- logo.png (no text, not shown)\n- long.md (without its middle)\n- scripts/fill.py\n"
	if text != want || skill.Bytes != int64(len(want)) {
		t.Errorf("its text is %q", text)
	}
	if len(skill.Files) != 3 {
		t.Fatalf("its files are %+v", skill.Files)
	}
	logo, cut, script := skill.Files[0], skill.Files[1], skill.Files[2]
	if logo != (events.SkillFile{Path: "logo.png", Bytes: 5}) {
		t.Errorf("what is no text is %+v", logo)
	}
	if string(skill.Texts[script.Digest]) != "print(1)\n" || script.Path != "scripts/fill.py" || script.Whole != 0 {
		t.Errorf("the script is %+v", script)
	}
	shown := string(skill.Texts[cut.Digest])
	if cut.Whole != int64(len(long)) || len(shown) > events.MaxSkillTextBytes || !strings.Contains(shown, "bytes of long.md, which has 44000, are left out here]") {
		t.Errorf("the long one is %+v: %.100q", cut, shown)
	}
	if len(skill.Notes) != 2 {
		t.Errorf("its author is told %q", skill.Notes)
	}
}

func TestS12_AFolderOfSkillsHasEachOfThem(t *testing.T) {
	t.Parallel()
	all := folder(t, "all", map[string]string{
		"pdf/SKILL.md": whole, "csv/SKILL.md": "\ufeff---\r\nname: csv\r\ndescription: Tables.\r\n---\r\nDo it.\r\n", "README.md": "x", "other/x": "x",
	})
	list, err := skills.Load(all)
	if err != nil || len(list) != 2 || list[0].Name != "csv" || list[1].Name != "pdf" {
		t.Fatalf("read %+v, %v", list, err)
	}
	if text := string(list[0].Texts[list[0].Digest]); text != "Do it." {
		t.Errorf("a file of Windows is read as %q", text)
	}
}

func TestS12_WhatIsNoSkillIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	head := "---\nname: pdf\ndescription: Forms.\n---\n"
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "", "SKILL.md:1:1: want ---"},
		{"no front matter", "# Forms\n", "SKILL.md:1:1: want ---"},
		{"front matter without an end", "---\nname: pdf\n", "SKILL.md:1:1: no line --- ends"},
		{"an unknown key", "---\nname: pdf\ntools: x\ndescription: a\n---\nx", "SKILL.md:3:1: unknown field \"tools\""},
		{"a key twice", "---\nname: pdf\nname: pdf\ndescription: a\n---\nx", "SKILL.md:3:1: "},
		{"no YAML", "---\nname: [\n---\nx", "SKILL.md:"},
		{"no name", "---\ndescription: a\n---\nx", "name is missing"},
		{"a name that is none", "---\nname: PDF\ndescription: a\n---\nx", "SKILL.md:2:7: name: want 1 to 64 of"},
		{"another name than the folder's", "---\nname: csv\ndescription: a\n---\nx", "SKILL.md:2:7: name: the folder is called \"pdf\""},
		{"no description", "---\nname: pdf\n---\nx", "description is missing"},
		{"a blank description", "---\nname: pdf\ndescription: \" \"\n---\nx", "SKILL.md:3:14: description is missing"},
		{"too much of it", "---\nname: pdf\ndescription: " + strings.Repeat("é", 1025) + "\n---\nx", "SKILL.md:3:14: description: 1025 characters"},
		{"no body", head + "\n \n", "there is no text behind this"},
		{"too long a body", head + strings.Repeat("x", events.MaxSkillTextBytes+1), "bytes of text, at most 32768 are allowed"},
		{"far too long a body", head + strings.Repeat("x", 1<<20), "SKILL.md: larger than"},
		{"not UTF-8", head + "abc\n d\xffe", "SKILL.md:6:3: this is no text"},
		{"NUL", "---\nname: p\x00df\n---\nx", "SKILL.md:2:8: this is no text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := skills.Load(folder(t, "pdf", map[string]string{"SKILL.md": tt.file})); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %.300v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestS12_EverythingWrongWithSkillsIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := skills.Load(folder(t, "all", map[string]string{
		"a/SKILL.md": "---\nname: b\n---\nx", "c/SKILL.md": "x", "d/SKILL.md": "---\nname: d\ndescription: d\n---\nx",
	}))
	for _, want := range []string{"the folder is called \"a\"", "description is missing", "c/SKILL.md:1:1"} {
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("said %v\nwant %s", err, want)
		}
	}
}

func TestS12_AFolderWithoutSkillsIsSaidToHaveNone(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"has no SKILL.md": folder(t, "none", map[string]string{"README.md": "x"}),
		"no such file":    filepath.Join(t.TempDir(), "nowhere"),
	} {
		if _, err := skills.Load(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("said %v, want %s", err, name)
		}
	}
}

func TestS12_NothingOutsideOfASkillIsRead(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(folder(t, "secret", map[string]string{"key": "hush"}), "key")
	link := func(t *testing.T, target, name string) string {
		t.Helper()
		path := folder(t, "pdf", map[string]string{"SKILL.md": whole, "real.md": "inside"})
		_ = os.Remove(filepath.Join(path, name))
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, path := range map[string]string{
		"escapes":    link(t, secret, "a.md"),
		"is no file": link(t, ".", "loop"),
		"no such":    link(t, "nowhere", "a.md"),
		"path esc":   link(t, secret, "SKILL.md"),
	} {
		if list, err := skills.Load(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("read %+v, %v; want %s", list, err, name)
		}
	}
	list, err := skills.Load(link(t, "real.md", "a.md"))
	if err != nil || len(list[0].Files) != 2 {
		t.Errorf("a link within the folder: %+v, %v", list, err)
	}
}

// A folder whose SKILL.md leads nowhere is one that somebody meant as a skill.
func TestS12_ASkillThatCannotBeReadIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"nowhere", "SKILL.md", "../../elsewhere"} {
		all := folder(t, "all", map[string]string{"pdf/SKILL.md": whole, "csv/data": "x"})
		link := filepath.Join(all, "csv", "SKILL.md")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := skills.Load(all); err == nil || !strings.Contains(err.Error(), link) {
			t.Errorf("%s: said %v", target, err)
		}
		if _, err := skills.Load(filepath.Dir(link)); err == nil || !strings.Contains(err.Error(), link) {
			t.Errorf("%s alone: said %v", target, err)
		}
	}
}

func TestS12_AFolderOfTooManyFilesIsRefused(t *testing.T) {
	t.Parallel()
	files := map[string]string{"SKILL.md": whole}
	for n := range 10_000 {
		files[fmt.Sprintf("d%d/f%d", n%10, n)] = ""
	}
	if _, err := skills.Load(folder(t, "pdf", files)); err == nil || !strings.Contains(err.Error(), "has more than 64 files beside SKILL.md") {
		t.Errorf("said %v", err)
	}
	hidden := map[string]string{"SKILL.md": whole}
	for n := range 2000 {
		hidden[fmt.Sprintf(".f%d", n)] = ""
	}
	if _, err := skills.Load(folder(t, "pdf", hidden)); err == nil || !strings.Contains(err.Error(), "has more than 1024 entries") {
		t.Errorf("said %v", err)
	}
	if _, err := skills.Load(folder(t, "pdf", map[string]string{"SKILL.md": whole, "big.txt": strings.Repeat("x", 1<<20+1)})); err == nil || !strings.Contains(err.Error(), "big.txt: larger than 1048576 bytes") {
		t.Errorf("said %v", err)
	}
}

// FuzzSkill reads any bytes as SKILL.md.
func FuzzSkill(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("---\nname: pdf\ndescription: a\n---\n"))
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("---\n? {a: b}\n: &x [*x]\n---\nx"))
	f.Fuzz(func(t *testing.T, source []byte) {
		list, err := skills.Load(folder(t, "pdf", map[string]string{"SKILL.md": string(source)}))
		if err != nil {
			return
		}
		skill := list[0]
		if skill.Name != "pdf" || skill.Description == "" || len(skill.Texts[skill.Digest]) == 0 {
			t.Errorf("read as %+v", skill)
		}
	})
}
