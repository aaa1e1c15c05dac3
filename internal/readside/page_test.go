package readside_test

import (
	"os"
	"strings"
	"testing"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/readside"
)

// Every way in stands on the page about HTTP, but those of the browsers' page and the
// commands, which another page has.
func TestThePageHasEveryWayIn(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	h := build(t, 0)
	made := make(chan *gateway.Gateway, 1)
	h.gate(readside.GatewayConfig{Made: func(g *gateway.Gateway) { made <- g }})
	const command = "POST /v1/chats/{chat}/"
	for _, w := range (<-made).Ways() {
		_, path, _ := strings.Cut(w.Pattern, " ")
		api := strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(w.Pattern, command)
		if api && !strings.Contains(string(content), "`"+w.Pattern+"`") {
			t.Errorf("docs/HTTP.md lacks %s", w.Pattern)
		}
	}
	for _, code := range problem.Codes() {
		if !strings.Contains(string(content), "| `"+string(code)+"` | ") {
			t.Errorf("docs/HTTP.md lacks the code %s", code)
		}
	}
}
