package page

import (
	"strings"
	"testing"
)

// Arguments of some KiB that were indented to hundreds of MiB would be that large on
// each page that shows them.
func TestDeepJSONStaysAsLargeAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000),
		`{"a":"\\\"",` + `"b":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}",
	} {
		if got := pretty(text); got != text {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
	if got := pretty(`{"text": "` + strings.Repeat("[", 200) + `"}`); !strings.HasPrefix(got, "{\n  \"text\"") {
		t.Errorf("what stands inside of a string counts: %.40q", got)
	}
}
