package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner/tools"
)

func TestEditFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content, arguments string
		want                     string // what the file has then
		says                     string
	}{
		{"one place", "a\nb\nc\n", `"old_text":"b\n","new_text":"two\nlines\n"`, "a\ntwo\nlines\nc\n", `Replaced it in "f", in line 2.`},
		{"over lines", "a\nb\nc\n", `"old_text":"a\nb","new_text":""`, "\nc\n", `Replaced it in "f", in line 1.`},
		{"all places", "x y x\nand x\n", `"old_text":"x","new_text":"z","replace_all":true`, "z y z\nand z\n", `Replaced it 3 times in "f", in lines 1, 1, 2.`},
		{"as many as said", "x\nand x\n", `"old_text":"x","new_text":"xx","expected_count":2`, "xx\nand xx\n", `Replaced it 2 times in "f", in lines 1, 2.`},
		{"signs mean nothing", "a.*$1\n", `"old_text":".*$1","new_text":"$0\\1"`, `a$0\1` + "\n", `Replaced it in "f", in line 1.`},
		{"line ends stay", "a\r\nb\r\n", `"old_text":"b","new_text":"c"`, "a\r\nc\r\n", `Replaced it in "f", in line 2.`},
		{"not there", "a\n", `"old_text":"A","new_text":"b"`, "a\n", "old_text is not in the file"},
		{"not with these line ends", "a\r\nb\r\n", `"old_text":"a\nb","new_text":"c"`, "a\r\nb\r\n", `its lines end in \r\n`},
		{"ambiguous", "x\ny\nx\n", `"old_text":"x","new_text":"z"`, "x\ny\nx\n", "stands in the file 2 times, in lines 1, 3: give more"},
		{"ambiguous as it overlaps", "aaa\n", `"old_text":"aa","new_text":"b"`, "aaa\n", "stands in the file 2 times, in lines 1, 1"},
		{"fewer than said", "x\n", `"old_text":"x","new_text":"z","expected_count":2`, "x\n", "1 times, not 2: in lines 1. Nothing was changed"},
		{"more than said", strings.Repeat("x\n", 30), `"old_text":"x","new_text":"z","expected_count":1`, strings.Repeat("x\n", 30), "19, 20 and more. Nothing was changed"},
		{"nothing would change", "x\n", `"old_text":"x","new_text":"x"`, "x\n", "nothing would change"},
		{"nothing to replace", "x\n", `"old_text":"","new_text":"x"`, "x\n", "all needed"},
		{"nothing in its place", "x\n", `"old_text":"x"`, "x\n", "all needed"},
		{"too large then", strings.Repeat("x", 1<<20), `"old_text":"x","new_text":"123456789","replace_all":true`, strings.Repeat("x", 1<<20), "at most 8388608 can be edited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			file := filepath.Join(root, "f")
			write(t, file, tt.content)
			if err := os.Chmod(file, 0o640); err != nil {
				t.Fatal(err)
			}
			text := must(run(t.Context(), tools.EditFile(w), `{"path":"f",`+tt.arguments+`}`))
			if !strings.Contains(text, tt.says) {
				t.Errorf("says %.300q", text)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != tt.want {
				t.Errorf("the file has %.100q, %v", got, err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			nothingIsLeftOver(t, root)
		})
	}
}

func TestWhatIsNotEdited(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	link(t, "src", filepath.Join(root, "link-folder"))
	for _, path := range []string{
		"nowhere", "src", "src/", ".", "link-in", "link-out", "link-folder/main.go", "pipe", ".git/index", "a/.GIT/config", "readme.md/", "image.png", "latin1.txt",
	} {
		arguments, err := json.Marshal(map[string]any{"path": path, "old_text": "e", "new_text": "taken over", "replace_all": true})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := run(t.Context(), tools.EditFile(w), string(arguments)); err == nil {
			t.Errorf("%s: %q", path, text)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if text, err := run(stopped, tools.EditFile(w), `{"path":"readme.md","old_text":"Title","new_text":"x"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is not wanted any more: %q, %v", text, err)
	}
	nothingIsLeftOver(t, root)
}

func TestMoveFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		overwrite      bool
		says           string
	}{
		{"a file", "readme.md", "docs/manual/readme.md", false, `Moved "readme.md" to "docs/manual/readme.md".`},
		{"a folder", "src", "lib", false, `Moved "src" to "lib".`},
		{"a link, not what it leads to", "link-out", "moved", false, `Moved "link-out" to "moved".`},
		{"over a file", "readme.md", "src/main.go", true, "in place of the file that was there."},
		{"over a file unasked", "readme.md", "src/main.go", false, "say overwrite to replace it"},
		{"over a folder", "readme.md", "src", true, "only a file is replaced, by a file"},
		{"over a link", "readme.md", "link-in", true, "only a file is replaced, by a file"},
		{"a folder over a file", "src", "readme.md", true, "only a file is replaced, by a file"},
		{"into itself", "src", "src/src", false, "is itself or lies in it"},
		{"to itself", "readme.md", "./readme.md", true, "is itself or lies in it"},
		{"nothing", "nowhere", "x", false, "there is no such file or folder"},
		{"the workspace", ".", "x", false, "this is the workspace itself"},
		{"without a name", "readme.md", "src/", false, "say the new name, too"},
		{"a file named as a folder", "readme.md/", "x", false, "this is no folder"},
		{"what is Git's", ".git", "x", false, "nothing is written below .git"},
		{"into what is Git's", "readme.md", "src/.Git/hooks/pre-commit", false, "nothing is written below .git"},
		{"a folder to be Git's", "src", ".GIT", false, "nothing is written below .git"},
		{"through a link", "readme.md", "link-abs/readme.md", false, "is a link; name the folder itself"},
		{"below a file", "src", "readme.md/x", false, "not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			arguments, err := json.Marshal(map[string]any{"from": tt.from, "to": tt.to, "overwrite": tt.overwrite})
			if err != nil {
				t.Fatal(err)
			}
			was, _ := os.Lstat(filepath.Join(root, tt.from))
			text, err := run(t.Context(), tools.MoveFile(w), string(arguments))
			if said := must(text, err); !strings.Contains(said, tt.says) {
				t.Errorf("says %q", said)
			}
			is, wrong := os.Lstat(filepath.Join(root, tt.to))
			if moved := was != nil && wrong == nil && os.SameFile(was, is); moved != (err == nil) && tt.name != "to itself" {
				t.Errorf("moved: %v, said: %v", moved, err)
			}
			if _, wrong := os.Lstat(filepath.Join(root, tt.from)); err == nil && wrong == nil {
				t.Error("it is still where it was")
			}
		})
	}
}

func TestDeleteFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path string
		recursive  bool
		gone       bool
		says       string
	}{
		{"a file", "readme.md", false, true, `Deleted the file "readme.md".`},
		{"a file, recursively", "readme.md", true, true, `Deleted the file "readme.md".`},
		{"a link", "link-abs", true, true, `Deleted the link "link-abs", and not what it leads to.`},
		{"a pipe", "pipe", false, true, `Deleted the file "pipe".`},
		{"an empty folder", "nothing", false, true, `Deleted the folder "nothing".`},
		{"a folder unasked", "src", false, false, "it has 1 files and folders in it; say recursive"},
		{"a folder", "src", true, true, `Deleted the folder "src" with 1 files and folders in it.`},
		{"a folder of links", "links", true, true, `Deleted the folder "links" with 2 files and folders in it.`},
		{"the workspace", ".", true, false, "this is the workspace itself"},
		{"the workspace, in another way", "src/..", true, false, "this is the workspace itself"},
		{"nothing", "nowhere", false, false, "there is no such file or folder"},
		{"what is Git's", ".git/index", false, false, "nothing is written below .git"},
		{"all that is Git's", ".GIT", true, false, "nothing is written below .git"},
		{"what holds what is Git's", "repository", true, false, `"repository/deep/.git" is in it`},
		{"through a link", "link-abs/secret.txt", false, false, "is a link; name the folder itself"},
		{"too much", "many", true, false, "there are more than 10000 files and folders in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			write(t, filepath.Join(root, "repository", "deep", ".git", "config"), "")
			if err := os.MkdirAll(filepath.Join(root, "nothing"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(root, "links"), 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, "../../outside", filepath.Join(root, "links", "out"))
			link(t, "..", filepath.Join(root, "links", "up"))
			if tt.path == "many" {
				for i := range 10_001 {
					write(t, filepath.Join(root, "many", strings.Repeat("x", i%100+1), strings.Repeat("y", i/100+1)), "")
				}
			}
			arguments, err := json.Marshal(map[string]any{"path": tt.path, "recursive": tt.recursive})
			if err != nil {
				t.Fatal(err)
			}
			before := outside(t, root)
			if said := must(run(t.Context(), tools.DeleteFile(w), string(arguments))); !strings.Contains(said, tt.says) {
				t.Errorf("says %q", said)
			}
			if tt.gone {
				if _, err := os.Lstat(filepath.Join(root, tt.path)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("it is still there: %v", err)
				}
			}
			if _, err := os.Stat(filepath.Join(root, ".git", "index")); err != nil {
				t.Errorf("something else is gone: %v", err)
			}
			if after := outside(t, root); len(after) != len(before) {
				t.Errorf("outside was %v and is %v", before, after)
			}
		})
	}
}

// Of many calls at once none undoes what another one has done.
func TestEditsDoNotUndoEachOther(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	const letters, done = "a\nb\nc\nd\ne\nf\n", "A\nB\nC\nD\nE\nF\n"
	write(t, filepath.Join(root, "f"), letters)
	var calls sync.WaitGroup
	for letter := range strings.Lines(letters) {
		calls.Go(func() {
			letter = strings.TrimSpace(letter)
			if text, err := run(t.Context(), tools.EditFile(w), `{"path":"f","old_text":"`+letter+`","new_text":"`+strings.ToUpper(letter)+`"}`); err != nil {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	calls.Wait()
	if got, err := os.ReadFile(filepath.Join(root, "f")); err != nil || string(got) != done {
		t.Errorf("the file has %q, %v", got, err)
	}
	nothingIsLeftOver(t, root)
}

func TestReadFileShowsImages(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	for name, content := range images(t) {
		write(t, filepath.Join(root, "pictures", name+".txt"), string(content)) // its content says what it is
		out, err := tools.ReadFile(w).Run(t.Context(), call(`{"path":"pictures/`+name+`.txt"}`))
		if err != nil || len(out.Parts) != 1 || out.Parts[0].Type != events.PartImage || string(out.Parts[0].Content) != string(content) {
			t.Errorf("%s: %+v, %v", name, out.Parts, err)
		}
		if !strings.Contains(out.Text, "image/"+name+", 2 × 2 pixels") {
			t.Errorf("%s: the model reads %q", name, out.Text)
		}
	}
	write(t, filepath.Join(root, "large.png"), string(images(t)["png"])+strings.Repeat("\x00", 10<<20))
	out, err := tools.ReadFile(w).Run(t.Context(), call(`{"path":"large.png"}`))
	if err != nil || len(out.Parts) != 0 || !strings.Contains(out.Text, "It cannot be shown: images may have 10485760 bytes") {
		t.Errorf("a large one: %q, %v", out.Text, err)
	}
	write(t, filepath.Join(root, "page.png"), "<svg/>")
	if text := must(run(t.Context(), tools.ReadFile(w), `{"path":"page.png"}`)); text != "<svg/>" {
		t.Errorf("a text that is named as one: %q", text)
	}
}
