//go:build processes && upgrade

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/chat"
)

// The release before this one, with which everything must get on. The commit is
// for checkouts that have no tags.
const (
	previousTag    = "v0.1.0"
	previousCommit = "d2c462af5ae41c4b4116b6d11949bc27c90a445a"
	previousForm   = 1 // of its snapshots
)

// sources is the module's root, seen from this package.
const sources = "../.."

// release is a set of binaries.
type release struct {
	name string
	dir  string
	form int // of its snapshots
}

// today is the release under test, built by TestMain.
func today() release { return release{name: "new", dir: binaries, form: chat.FoldVersion} }

// previous is the release before it, built once.
func previous(t *testing.T) release {
	t.Helper()
	dir, err := buildPrevious()
	if err != nil {
		t.Fatal(err)
	}
	return release{name: "old", dir: dir, form: previousForm}
}

// next is a release to come: today's with a version of an event that today's
// does not know, and another form of the folded state. Built once.
func next(t *testing.T) release {
	t.Helper()
	dir, err := buildNext()
	if err != nil {
		t.Fatal(err)
	}
	return release{name: "next", dir: dir, form: chat.FoldVersion + 1}
}

var buildPrevious = sync.OnceValues(func() (string, error) {
	commit, err := previousRelease()
	if err != nil {
		return "", err
	}
	source := filepath.Join(binaries, previousTag+"-source")
	if err := os.Mkdir(source, 0o700); err != nil {
		return "", err
	}
	archive, err := git("archive", "--format=tar", commit)
	if err != nil {
		return "", err
	}
	unpack := exec.Command("tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack %s: %w\n%s", previousTag, err, out)
	}
	dir := filepath.Join(binaries, previousTag)
	return dir, compile(source, dir)
})

// previousRelease is the commit of the release before this one, as the checkout
// has it or the place it was cloned from.
func previousRelease() (string, error) {
	names := []string{previousCommit, "refs/tags/" + previousTag} // a tag can be an old one of the same name
	for _, name := range names {
		if commit, err := commitOf(name); err == nil {
			return commit, nil
		}
	}
	var failed error
	for _, name := range names {
		_, err := git("fetch", "--quiet", "origin", name)
		if err == nil {
			return commitOf("FETCH_HEAD")
		}
		failed = errors.Join(failed, err)
	}
	return "", fmt.Errorf("neither the tag %s nor its commit %s is here, and it cannot be fetched: "+
		"fetch the tags, or clone without --depth: %w", previousTag, previousCommit, failed)
}

func commitOf(name string) (string, error) {
	out, err := git("rev-parse", "--verify", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

func git(args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = sources, append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %w\n%s", args[0], err, failed.Stderr)
	}
	return out, err
}

// compile puts the binaries made from a folder's sources into dir.
func compile(source, dir string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", dir + "/"}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/...")...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", dir, err, out)
	}
	return nil
}

// futureArchived is the event of the next release that today's does not know.
const futureArchived = "chat.archived.v2"

var buildNext = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binaries, "next")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for _, edit := range []struct {
		file string
		old  *regexp.Regexp
		now  string
	}{
		{"events/chat.go", regexp.MustCompile(`"chat\.archived\.v1"`), `"` + futureArchived + `"`},
		{
			"events/codec.go", regexp.MustCompile(`as\[ChatArchived\]\(\),`),
			`as[ChatArchived](), {name: "chat.archived.v1", zero: ChatArchived{}, decode: as[ChatArchived]().decode},`,
		},
		{"chat/state.go", regexp.MustCompile(`const FoldVersion = (\d+)`), "const FoldVersion = 1 + $1"},
	} {
		path, err := filepath.Abs(filepath.Join(sources, edit.file))
		if err != nil {
			return "", err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if found := len(edit.old.FindAll(content, -1)); found != 1 {
			return "", fmt.Errorf("%s: %d places match %s, want one", edit.file, found, edit.old)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(edit.file, "/", "-"))
		if err := os.WriteFile(copied, edit.old.ReplaceAll(content, []byte(edit.now)), 0o600); err != nil {
			return "", err
		}
		replaced[path] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return dir, compile(sources, dir, "-overlay", file)
})
