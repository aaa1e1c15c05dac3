package readside_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
)

// The trace of a request is the one that its command's commit names.
func TestATraceIsCarriedFromHTTPToTheLog(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "ci", "service:ci")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/none", "").status == http.StatusNotFound })
	nc := h.connect()
	feed, err := nc.SubscribeSync(protocol.FeedCommitSubject(events.Key{Tenant: "acme", Chat: protocol.Any}))
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil { // the server knows of it
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	made := h.ask(token, "POST", url+"/v1/chats", `{}`, "traceparent", "00-"+id+"-b7ad6b7169203331-01")
	if made.status != http.StatusCreated {
		t.Fatalf("create answers %d %s", made.status, made.body)
	}
	m, err := feed.NextMsg(10 * time.Second)
	if err != nil || !strings.Contains(m.Header.Get(protocol.HeaderTraceparent), id) {
		t.Errorf("the commit has %v, error %v", m, err)
	}
}
