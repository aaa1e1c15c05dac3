package stage

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/everturn/everturn/model"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Fuzz sends anything as a stream of events, and as what a refusal may say. There
// is one end and nobody panics; pieces of any size give no other answer; and what
// breaks off is never taken for complete: it ends in an error, or in the very
// answer of the whole, since nothing of that was missing.
func Fuzz(f *testing.F, format Format) {
	f.Add(format.Whole, uint16(len(format.Whole)/2), uint16(http.StatusOK))
	f.Add(format.Begun+format.Failed, uint16(len(format.Begun)), uint16(http.StatusOK))
	f.Add(format.Failed, uint16(7), uint16(http.StatusTooManyRequests))
	f.Add(format.Begun+format.Whole, uint16(len(format.Begun)), uint16(http.StatusOK))
	late := cmpopts.IgnoreFields(model.Answer{}, "Usage", "RawUsage") // some count only when all is said
	var sent reply
	m := format.Make(f, Setup{URL: "http://memory.invalid", Transport: Carrier(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: sent.status, Header: http.Header{"Content-Type": {sent.kind}}, Body: io.NopCloser(sent.body), Request: r,
		}, nil
	})})
	f.Fuzz(func(t *testing.T, body string, cut, status uint16) {
		hear := func(r io.Reader) Heard {
			sent = reply{status: int(status), kind: "text/event-stream", body: r}
			if status != http.StatusOK {
				sent.kind = "application/json"
			}
			return Hear(t.Context(), t, m, Asked())
		}
		whole := hear(strings.NewReader(body))
		if status != http.StatusOK {
			if whole.Answer != nil {
				t.Fatalf("status %d is an answer: %+v", status, whole.Answer)
			}
			return
		}
		// Where an event is broken, it depends on the pieces whether the end was heard
		// before that was noticed, and what was counted behind it.
		bytewise := hear(iotest.OneByteReader(strings.NewReader(body)))
		if whole.Answer != nil && bytewise.Answer != nil {
			if diff := cmp.Diff(whole.Answer, bytewise.Answer, cmpopts.EquateEmpty(), late); diff != "" {
				t.Fatalf("the answer heard at once and byte by byte:\n%s", diff)
			}
		}
		if int(cut) >= len(body) {
			return
		}
		part := hear(strings.NewReader(body[:cut]))
		if part.Answer == nil {
			return
		}
		if whole.Answer == nil {
			return // what follows is broken, or tells of a failure
		}
		if diff := cmp.Diff(whole.Answer, part.Answer, cmpopts.EquateEmpty(), late); diff != "" {
			t.Fatalf("a part is taken for complete (-whole +part):\n%s", diff)
		}
	})
}

// reply is what is answered next.
type reply struct {
	status int
	kind   string
	body   io.Reader
}
