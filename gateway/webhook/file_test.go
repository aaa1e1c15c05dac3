package webhook_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/webhook"
)

func TestAFileThatIsWrongIsToldWithAllThatIs(t *testing.T) {
	t.Parallel()
	_, err := webhook.Parse("webhooks.yaml", []byte(`
webhooks:
  - name: A b
    url: ftp://x
    events: [turn.compelted]
    tenants: [ACME]
    from: then
    timeout: 2h
    secret_env: [SHORT, NONE]
  - name: crm
    url: https://user:pw@example.com
  - name: crm
    url: https://example.com/x
    secret_env: [GOOD]
`), func(name string) string {
		switch name {
		case "GOOD":
			return secretText()
		case "NONE":
			return ""
		}
		return "whsec_c2hvcnQ="
	})
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{
		"dead_letters: want a file", "want 1 to 64 of a-z", "want an address that begins", `"turn.compelted" is no event`, `tenant "ACME"`,
		`"then", want now or start`, "2h0m0s, want more than 0", "$SHORT: want whsec_", "$NONE is not set", "without a user", "secret_env: want the name", "is taken by a webhook above",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "c2hvcnQ") {
		t.Errorf("it tells a secret:\n%v", err)
	}
	if _, err := webhook.Parse("w.yaml", []byte("dead_letters: d\nwebhooks:\n  - {name: a, url: 'http://x', urls: y}\n"), os.Getenv); err == nil {
		t.Error("an unknown key is taken")
	}
}

// What is wrong may stand beside what nobody else should read.
func TestAFileThatIsWrongTellsNoSecret(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]string{
		"the secret itself":      "url: https://x\n    secret_env: [whsec_SECRET]",
		"the secret below":       "url: https://x\n    secret_env:\n      - whsec_SECRET",
		"the secret as a text":   "url: https://x\n    secret_env: whsec_SECRET",
		"another secret":         "url: https://x\n    secret_env: [c2VjcmV0SECRET+/=]",
		"an address":             "url: ftp://x/SECRET\n    secret_env: [A]",
		"a list of addresses":    "url: [https://x/SECRET]\n    secret_env: [A]",
		"an address on one line": "{url: 'ftp://x/SECRET', secret_env: [A]}",
		"a key that is unknown":  "urls: https://x/SECRET\n    secret_env: [A]",
		"no YAML":                "url: \"https://x/SECRET\n    secret_env: [A]",
		"no host":                "url: https://:443/SECRET\n    secret_env: [A]",
	} {
		_, err := webhook.Parse("w.yaml", []byte("dead_letters: d\nwebhooks:\n  - "+hook+"\n"), func(string) string { return secretText() })
		if err == nil {
			t.Errorf("%s: it is taken", name)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: it is told:\n%v", name, err)
		}
		if !strings.Contains(err.Error(), "w.yaml:") {
			t.Errorf("%s: nobody says where:\n%v", name, err)
		}
	}
}

func TestPatternsOfEvents(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]events.Type{
		"turn.completed":    {"turn.completed.v1"},
		"turn.completed.v1": {"turn.completed.v1"},
		"turn.fail*":        {"turn.failed.v1"},
	} {
		var got []events.Type
		for _, kind := range events.TypeNames() {
			if webhook.Matches(pattern, string(kind)) {
				got = append(got, kind)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s means %v", pattern, got)
		}
	}
}
