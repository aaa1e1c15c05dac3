package roles

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/protocol"
	"golang.org/x/crypto/bcrypt"
)

// answersWithin is how long the server keeps the way back to who asked. A pull
// waits at most half as long for its first message, and each answer starts the
// time anew.
const answersWithin = "2m"

// hashCost is the lowest there is: what it slows down is guessing a password
// that people chose, and these are 256 random bits.
const hashCost = bcrypt.MinCost

// connectionTypes are those of programs. A leaf node would be held to less, since
// the server takes it for one of its own kind, and MQTT brings streams with it.
const connectionTypes = `"STANDARD", "WEBSOCKET", "IN_PROCESS"`

const preamble = `# Accounts of an Everturn installation, for nats-server 2.15 or newer.
#
# Made by Everturn, and made anew when tenants or groups are added. It is meant to
# be included by the server's own file, beside its ports, cluster, TLS and
# JetStream settings:
#
#   jetstream { store_dir: /var/lib/nats, sync_interval: always }
#   include accounts.conf
#
# Passwords stand here as hashes.

`

// render writes the accounts in the server's language.
func render(accounts []account) (string, error) {
	w := &writer{}
	w.raw(preamble)
	w.line("system_account: %s", quote(protocol.SystemAccount))
	w.line("accounts {")
	for _, a := range accounts {
		if err := w.account(a); err != nil {
			return "", err
		}
	}
	w.line("}")
	return w.String(), nil
}

// writer writes lines, indented by how many braces are open.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) raw(text string) { _, _ = w.WriteString(text) } // a Builder never fails

func (w *writer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.HasPrefix(text, "}") || strings.HasPrefix(text, "]") {
		w.depth--
	}
	w.raw(strings.Repeat("  ", w.depth) + text + "\n")
	if strings.HasSuffix(text, "{") || strings.HasSuffix(text, "[") {
		w.depth++
	}
}

func (w *writer) account(a account) error {
	w.line("# %s", a.says)
	w.line("%s {", a.name)
	if a.jetStream {
		w.line("jetstream: enabled")
	}
	w.line("users: [")
	for _, u := range a.users {
		if err := w.user(u); err != nil {
			return err
		}
	}
	w.line("]")
	if len(a.exports) > 0 {
		w.line("exports: [")
		for _, e := range a.exports {
			w.export(e)
		}
		w.line("]")
	}
	if len(a.imports) > 0 {
		w.line("imports: [")
		for _, i := range a.imports {
			w.line("{%s: {account: %s, subject: %s}}", i.kind, quote(i.from), quote(i.subject))
		}
		w.line("]")
	}
	w.line("}")
	return nil
}

func (w *writer) user(u User) error {
	hash, err := bcrypt.GenerateFromPassword([]byte(u.Password), hashCost)
	if err != nil {
		return fmt.Errorf("user %s: %w", u.Name, err)
	}
	w.line("{")
	w.line("user: %s, password: %s", quote(u.Name), quote(string(hash)))
	w.line("allowed_connection_types: [%s]", connectionTypes)
	w.line("permissions: {")
	w.list("publish", u.publish)
	w.list("subscribe", u.subscribe)
	if u.respond {
		w.line("allow_responses: {max: 1, expires: %s}", quote(answersWithin))
	}
	w.line("}")
	w.line("}")
	return nil
}

func (w *writer) list(name string, subjects []string) {
	w.line("%s: {", name)
	w.line("allow: [")
	for _, subject := range subjects {
		w.line("%s", quote(subject))
	}
	w.line("]")
	w.line("}")
}

func (w *writer) export(e export) {
	to := make([]string, len(e.to))
	for i, name := range e.to {
		to[i] = quote(name)
	}
	response := ""
	if e.many {
		response = fmt.Sprintf(", response_type: stream, response_threshold: %s", quote(answersWithin))
	}
	w.line("{%s: %s, accounts: [%s]%s}", e.kind, quote(e.subject), strings.Join(to, ", "), response)
}

func quote(s string) string { return strconv.Quote(s) }
