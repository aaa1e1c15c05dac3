package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's, seen from this package.
const root = "../.."

// defects reads all of them, by name.
func defects(t *testing.T) map[string]defect {
	t.Helper()
	files, err := filepath.Glob("testdata/defects/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d defects: %v", len(files), err)
	}
	all := map[string]defect{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		if all[name], err = parseDefect(string(text)); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return all
}

// planted gives the sources with the defect in them, by their paths.
func planted(t *testing.T, d defect) map[string]string {
	t.Helper()
	sources := map[string]string{}
	for _, e := range d.edits {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, edited := sources[path]; !edited {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[path] = string(text)
		}
		if sources[path], err = e.apply(sources[path]); err != nil {
			t.Fatal(err)
		}
	}
	return sources
}

// A defect whose place is gone proves nothing any more.
func TestDefectsFitTheSource(t *testing.T) {
	t.Parallel()

	for name, d := range defects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			planted(t, d)
		})
	}
}

// overlay writes the sources with the defect to files of their own and gives
// the name of the file that tells the compiler of them. The product's own files
// stay as they are.
func overlay(t *testing.T, d defect) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range planted(t, d) {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = file
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// compile builds this package's test with the defect in the product.
func compile(t *testing.T, d defect) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "sim.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay(t, d), "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the product with the defect does not compile: %v\n%s", err, out)
	}
	return binary
}
