package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzRead reads any bytes by both JSON libraries. They read the same from them.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/wire/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		`{"v":1,"parts":[{"type":"text","text":"a\ud800b"}]}`, "{\"v\":1,\"parts\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}",
		`{"v":1,"v":2,"parts":[{"type":"text","text":"a"}],"parts":[{"text":"b"},null]}`, `{"V":1,"PARTS":null}`, `{"v":1} {}`, `{"v":1.0}`,
		`{"v":1,"tenant":"a","step":"1.2","deadline":"2026-01-02T03:04:05Z","arguments":{"a": [1, 2]}}`, `null`, `[]`, ``, `{"v":1,"x":2}`,
		`{"v":1,"call":"3.1.1","status":"ok","timing":{"ran_ms":1e2},"parts":[]}`, `{"v":1,"settings":{"limits":{"steps":null}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		same[Send](t, b)
		same[Create](t, b)
		same[Claim](t, b)
		same[Result](t, b)
		same[ModelWork](t, b)
		same[ToolWork](t, b)
		same[Timer](t, b)
		exact[Send](t, b)
		exact[Create](t, b)
	})
}

// same compares with encoding/json.
func same[T any](t *testing.T, b []byte) {
	t.Helper()
	var want T
	wantErr := json.Unmarshal(b, &want)
	got, err := Read[T](b)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%T of %q: error %v, want %v", got, b, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nreads  %#v\nbefore %#v", b, got, want)
	}
}

// exact compares with what encoding/json takes where no name is unknown. What it
// alone takes is left to it.
func exact[T any](t *testing.T, b []byte) {
	t.Helper()
	got, ok := readExactly[T](b)
	if !ok {
		return
	}
	var want T
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q is read, and was not: %v", b, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("%q is read, and has more than one value", b)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nreads  %#v\nbefore %#v", b, got, want)
	}
}
