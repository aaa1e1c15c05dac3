// Package wiretest keeps bytes that must not change: the files below
// testdata/wire in the packages whose types are written to a log or a subject.
package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// freeze writes the wire files that do not exist yet. There is no flag that
// changes one: a wire file, once released, is data that is out in the world.
var freeze = flag.Bool("freeze", false, "write wire files that are missing")

// Frozen gives the bytes of testdata/wire/name, without the line break at the
// end. With -freeze the file is first created from encoded if it is missing.
func Frozen(t testing.TB, name string, encoded []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", "wire", name)
	if *freeze {
		create(t, path, append(bytes.Clone(encoded), '\n'))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\nsomething new needs its wire file: run go test with -freeze here, and commit what it wrote", err)
	}
	return bytes.TrimSuffix(b, []byte("\n"))
}

func create(t testing.TB, path string, content []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// Body checks that the wire file called name still means want, and that want is
// still written as that file, byte for byte.
func Body[T any](t testing.TB, name string, want T) {
	t.Helper()
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	file := Frozen(t, name, encoded)
	var got T
	if err := json.Unmarshal(file, &got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: old bytes mean something else (-want +got):\n%s", name, diff)
	}
	if diff := cmp.Diff(string(file), string(encoded)); diff != "" {
		t.Errorf("%s: bytes have changed (-frozen +encoded):\n%s", name, diff)
	}
}
