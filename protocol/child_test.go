package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func TestAWordIsReadOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	fits := protocol.ChatWork{V: 1, Tenant: "acme", Chat: "C1", Rev: 7, What: protocol.WordStop, Call: events.CallID{Turn: 3, Step: 2, Ordinal: 1}}
	const subject = "everturn.work.chat.acme.C1.stop-3-2-1"
	for _, tt := range []struct {
		name, subject string
		edit          func(w *protocol.ChatWork)
		says          string // empty: it is fine
	}{
		{"one that fits", subject, func(*protocol.ChatWork) {}, ""},
		{"of a newer form", subject, func(w *protocol.ChatWork) { w.V = 2 }, "v is 2"},
		{"that means nothing", subject, func(w *protocol.ChatWork) { w.What = "bogus" }, `word "bogus"`},
		{"of another meaning", subject, func(w *protocol.ChatWork) { w.What = protocol.WordReport }, `word "report"`},
		{"about another call", subject, func(w *protocol.ChatWork) { w.Call.Ordinal = 2 }, "call 3.2.2"},
		{"about another chat", subject, func(w *protocol.ChatWork) { w.Chat = "C2" }, "acme.C2"},
		{"of another tenant", subject, func(w *protocol.ChatWork) { w.Tenant = "other" }, "other.C1"},
		{"under a name that means nothing", "everturn.work.chat.acme.C1.bogus-3-2-1", func(*protocol.ChatWork) {}, "want report, stop or ended"},
		{"under a name without a call", "everturn.work.chat.acme.C1.stop-3-2", func(*protocol.ChatWork) {}, "call"},
		{"under the subject of no chat", "everturn.work.chat.acme.a$b.stop-3-2-1", func(*protocol.ChatWork) {}, "chat"},
		{"under that of other work", "everturn.work.tool.acme.C1.stop-3-2-1", func(*protocol.ChatWork) {}, "no word"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := fits
			tt.edit(&w)
			body, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			got, err := protocol.ReadChatWork(tt.subject, body)
			switch {
			case tt.says == "" && (err != nil || got != fits):
				t.Errorf("got %+v, %v", got, err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.subject)):
				t.Errorf("got %+v, %v; want an error that says %q and names the subject", got, err, tt.says)
			case tt.subject == subject && got.Key() != fits.Key():
				t.Errorf("it is told as one of chat %s", got.Key())
			}
		})
	}
	if _, err := protocol.ReadChatWork(subject, []byte(`{"v":`)); err == nil || !strings.Contains(err.Error(), subject) {
		t.Errorf("what is no JSON: %v", err)
	}
}
