package gateway

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/protocol"
)

func TestEveryCommandHasAnOperation(t *testing.T) {
	t.Parallel()
	var got []protocol.Verb
	for _, c := range everyCommand() {
		got = append(got, c.Verb())
		if _, err := protocol.DecodeCommand(string(c.Verb()), []byte(`{"v":1}`)); err != nil && len(c.must) == 0 {
			t.Errorf("the document says that %s need have nothing: %v", c.Verb(), err)
		}
	}
	want := protocol.Verbs()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are operations for %v, want them for %v", got, want)
	}
}
