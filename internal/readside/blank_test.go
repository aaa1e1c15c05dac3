package readside_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
)

func TestNothingIsStartedByAnEmptyText(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "token", "")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/x", "").status == http.StatusNotFound })
	h.ask(token, "POST", url+"/v1/chats/one/create", "")
	bus := h.bus("acme")
	for _, text := range []string{"", "  ", `\n\t`} {
		parts := `"parts":[{"type":"text","text":"` + text + `"}]`
		h.ask(token, "POST", url+"/v1/chats/one/send", `{`+parts+`}`).refuses(t, http.StatusBadRequest, events.CodeBadCommand)
		h.ask(token, "POST", url+"/v1/chats/one/edit", `{`+parts+`}`).refuses(t, http.StatusBadRequest, events.CodeBadCommand)
		h.ask(token, "POST", url+"/v1/chats/one/edit-input", `{"input":"i",`+parts+`}`).refuses(t, http.StatusBadRequest, events.CodeBadCommand)
	}
	for _, text := range []string{"", " \n\t"} {
		reply, err := bus.Command(t.Context(), "one", protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}})
		if err == nil || reply.OK || reply.Code != events.CodeBadCommand {
			t.Errorf("on the bus %q is answered %+v, %v", text, reply, err)
		}
	}
	if head, err := bus.Head(t.Context(), "one"); err != nil || head.Rev != 1 {
		t.Errorf("the chat is %+v, %v; want what was made", head, err)
	}
}

// Clients of that API show what its errors say, and nothing of other forms.
func TestWhatThatAPIHasElsewhereIsRefusedInItsForm(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{})
	for _, route := range []string{"POST /v1/embeddings", "POST /v1/responses", "GET /v1/models/gpt", "DELETE /v1/models", "GET /v1/chat/completions", "POST /v1/audio/speech"} {
		method, path, _ := strings.Cut(route, " ")
		got := h.ask("", method, url+path, "")
		said := into[struct {
			Error struct{ Message, Code string }
		}](t, got)
		if got.status != http.StatusNotFound || said.Error.Code == "" || !strings.Contains(said.Error.Message, path) {
			t.Errorf("%s is answered %d %s", route, got.status, got.body)
		}
	}
}
