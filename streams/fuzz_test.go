package streams

import (
	"bytes"
	"errors"
	"testing"

	"github.com/everturn/everturn"
	"github.com/google/go-cmp/cmp"
)

// FuzzTopology reads any text as a streams.yaml. Everything that is wrong is told
// with its place; what is taken means the same when it is printed and read again.
func FuzzTopology(f *testing.F) {
	f.Add(everturn.StreamsYAML())
	f.Add([]byte("shards: 4\nreplicas: auto\nduplicates: 2m\nstreams: []\n"))
	f.Add([]byte("streams: &a\n- {name: LOG, max_bytes: 9TiB, consumers: *a}\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		read, err := parseTopology("f.yaml", source)
		if err != nil {
			wrong, ok := errors.AsType[*FileError](err)
			if !ok || len(wrong.Problems) == 0 || wrong.Error() == "" {
				t.Errorf("not taken, and not told why: %v", err)
			}
			return
		}
		var first, second bytes.Buffer
		if err := read.Print(&first); err != nil {
			t.Fatal(err)
		}
		again, err := parseTopology("f.yaml", first.Bytes())
		if err != nil {
			t.Fatalf("printed, and not taken: %v\n%s", err, first.Bytes())
		}
		if err := again.Print(&second); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Errorf("printed again:\n%s", cmp.Diff(first.String(), second.String()))
		}
		for _, replicas := range []int{1, 3} {
			if diff := cmp.Diff(read.StreamConfigs(replicas), again.StreamConfigs(replicas)); diff != "" {
				t.Errorf("means something else when it is printed:\n%s", diff)
			}
		}
	})
}

// FuzzSize reads any text as a size. What is one is written so that it is the same.
func FuzzSize(f *testing.F) {
	for _, text := range []string{"0", "512KiB", "1 GiB", "-1", "9TiB", "4611686018427387904", "KiB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseSize(text)
		if !ok {
			return
		}
		if back, ok := parseSize(sizeText(n)); !ok || back != n {
			t.Errorf("%q is %d, is written as %s, and that is %d", text, n, sizeText(n), back)
		}
	})
}
