package roles

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol"
)

// TestPageListsEverything looks for each subject of each user on the page.
func TestPageListsEverything(t *testing.T) {
	t.Parallel()

	content, err := os.ReadFile("../../docs/ROLES.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	c, err := Generate(Config{Tenants: []string{"t0"}, Groups: []string{"g0"}, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	verbs := make([]string, 0, len(protocol.Verbs()))
	for _, verb := range protocol.Verbs() {
		verbs = append(verbs, string(verb))
	}
	verb := regexp.MustCompile(`^(everturn\.cmd\..*)\.(` + strings.Join(verbs, "|") + `)$`)
	names := strings.NewReplacer("t0", "<tenant>", "g0", "<group>", "LOG_0", "LOG_<n>", "everturn.log.0.", "everturn.log.<n>.")
	stream := regexp.MustCompile(`^(\$JS\.(?:API\.STREAM\.CREATE|API\.CONSUMER\.CREATE|API\.CONSUMER\.DELETE|FC))\.(?:LOG_<n>|[A-Z_]+)(\.\*|\.>|)$`)
	for _, u := range c.Users {
		for _, subject := range append(u.publish, u.subscribe...) {
			subject = verb.ReplaceAllString(names.Replace(subject), "$1.<verb>")
			if general := stream.ReplaceAllString(subject, "$1.<stream>$2"); !strings.Contains(page, "`"+subject+"`") && !strings.Contains(page, "`"+general+"`") {
				t.Errorf("docs/ROLES.md does not say that %s uses %s", u.Name, subject)
			}
		}
	}
}
