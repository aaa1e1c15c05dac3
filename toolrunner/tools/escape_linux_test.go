package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// door is a folder of the workspace that takes turns with a link to the folder outside,
// as fast as can be, for as long as the test runs.
func door(t *testing.T, root string) (content *os.Root) {
	t.Helper()
	folder, trap := filepath.Join(root, "door"), filepath.Join(root, "trap")
	write(t, filepath.Join(folder, "secret.txt"), "harmless")
	content, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	link(t, "../outside", trap)
	ctx, stop := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			_ = unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, trap, unix.RENAME_EXCHANGE) // one may be gone for a moment
		}
	})
	t.Cleanup(func() {
		stop()
		swapping.Wait()
		if err := content.Close(); err != nil {
			t.Error(err)
		}
	})
	return content
}

// Between any two looks at a path a folder on it may become a link that leads out.
func TestAFolderThatBecomesALinkLeadsNobodyOut(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"read_file":        `{"path":"door/secret.txt"}`,
		"read_file kept":   `{"path":"door/secret.txt","artifact_type":"text/plain"}`,
		"list_directory":   `{"path":"door"}`,
		"search_files":     `{"path":"door","pattern":"s3cret"}`,
		"search_files all": `{"pattern":"s3cret"}`,
		"write_file":       `{"path":"door/secret.txt","content":"taken over"}`,
		"write_file new":   `{"path":"door/a/b/new.txt","content":"taken over"}`,
		"edit_file":        `{"path":"door/secret.txt","old_text":"e","new_text":"3","replace_all":true}`,
		"move_file":        `{"from":"door/secret.txt","to":"loot","overwrite":true}`,
		"move_file to":     `{"from":"readme.md","to":"door/secret.txt","overwrite":true}`,
		"move_file folder": `{"from":"door","to":"loot-folder"}`,
		"delete_file":      `{"path":"door/secret.txt"}`,
		"delete_file all":  `{"path":"door","recursive":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			before := outside(t, root)
			content := door(t, root)
			tool, _, _ := strings.Cut(name, " ")
			const rounds = 100
			for range rounds {
				_ = content.WriteFile("secret.txt", []byte("harmless"), 0o600) // the folder itself may be gone
				write(t, filepath.Join(root, "readme.md"), "harmless")
				if text, _ := run(t.Context(), fileTools(w)[tool], arguments); strings.Contains(text, "s3cret") {
					t.Fatalf("got %q", text)
				}
			}
			if loot, err := os.ReadFile(filepath.Join(root, "loot")); err == nil && strings.Contains(string(loot), "s3cret") {
				t.Error("what is outside was taken")
			}
			if after := outside(t, root); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("outside was %v and is %v", before, after)
			}
		})
	}
}

// The race above is one: a call is let in at one time and turned away at another.
func TestTheDoorOpensAndShuts(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	door(t, root)
	var in, away int
	for until := time.Now().Add(30 * time.Second); (in == 0 || away == 0) && time.Now().Before(until); {
		if _, err := run(t.Context(), fileTools(w)["read_file"], `{"path":"door/secret.txt"}`); err == nil {
			in++
		} else {
			away++
		}
	}
	if in == 0 || away == 0 {
		t.Errorf("%d calls were let in, %d turned away", in, away)
	}
}
