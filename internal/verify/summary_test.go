package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// However long a summary is, and in whatever script, what it is said to take is what
// it takes where it is read: content that lies apart counts by its bytes.
//
// Rule: S10.3.
func TestALongSummaryIsCountedAlike(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"a", "語"} {
		for _, bytes := range [][]int{{64<<10 + 1}, {200 << 10}, slices.Repeat([]int{63 << 10}, 4)} {
			t.Run(fmt.Sprint(char, bytes), func(t *testing.T) {
				t.Parallel()
				c := chatgen.New(ann)
				c.Live.Windows = nil
				c.Create(events.Settings{})
				for range 12 {
					c.Send(strings.Repeat("much ", 60<<10/5))
					c.Answer(events.Text("yes"))
				}
				c.Command(protocol.Compact{V: protocol.Version})
				var parts []events.Part
				for _, n := range bytes {
					parts = append(parts, events.Text(strings.Repeat(char, n/len(char))))
				}
				c.Answer(parts...)
				c.Send("and now?")
				c.Answer(events.Text("this"))
				l := logOf(over(t, c))
				nth[events.ContextCompacted](l, 1)
				for _, v := range check(l.chain(t), verify.Options{Idle: true, Schema: schema, Blob: blobs(c)}) {
					t.Error(v)
				}
			})
		}
	}
}
