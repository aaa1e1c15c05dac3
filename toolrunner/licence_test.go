package toolrunner

import (
	"context"
	"testing"
	"time"

	"github.com/everturn/everturn/protocol"
)

// A process may be held up between the answer and the effect, for as long as
// its machine likes. No test can arrange that from outside.
func TestLicenceThatRanOutBeginsNothing(t *testing.T) {
	t.Parallel()
	began := false
	m := protocol.Manifest{Name: "act", Schema: []byte(`{}`)}
	r, err := New(Config{}, nil, []Tool{Func(m, func(context.Context, Call) (Output, error) {
		began = true
		return Output{}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	end := r.execute(t.Context(), r.tools.fixed[0], Call{}, time.Second, time.Now(), func(context.Context) {})
	if !end.late || end.begun || began {
		t.Errorf("%+v, began %v: want nothing but that it was too late", end, began)
	}
}
