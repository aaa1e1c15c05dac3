//go:build processes

package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/payments"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// purchases are turns of two steps that pay once. What is said begins with the
// tool's name, and is what it pays for.
const purchases = `
rules:
  - when: {input: "pay for", step: 1}
    answer:
      - call: {name: pay, arguments: '{"reference": "{{input}}"}'}
  - when: {input: "pay_once for", step: 1}
    answer:
      - call: {name: pay_once, arguments: '{"reference": "{{input}}"}'}
  - when: {input: "program for", step: 1}
    answer:
      - call: {name: program, arguments: '{"reference": "{{input}}", "amount": 3}'}
  - when: {input: "program_once for", step: 1}
    answer:
      - call: {name: program_once, arguments: '{"reference": "{{input}}", "amount": 3}'}
  - answer:
      - text: "Told: {{result}}"
`

// payingProgram declares a program as a tool: its name, the path of the program, the
// service that it pays at, and whether it may run again.
const payingProgram = `
  - name: %[1]s
    description: Pays for a reference.
    schema:
      type: object
      properties: {reference: {type: string}, amount: {type: integer}}
      required: [reference, amount]
      additionalProperties: false
    command: [%[2]q]
    environment: {PAYMENTS_URL: %[3]q}
    idempotent: %[4]t
    policy: allow
    network: true
    timeout: 1m
`

// payer is a tool that pays, and where.
type payer struct {
	tool       string
	idempotent bool
	service    *payments.Service
}

// purchase is one call that pays: its chat, and what for.
type purchase struct {
	payer
	key       events.Key
	reference string
	victim    string
	moment    string
}

// effectRig is an installation whose tools pay at services of the test's own
// process, which no death of the installation's takes anything from.
type effectRig struct {
	*cluster
	nc     *nats.Conn
	cl     *client.Client
	read   reader
	bought []purchase

	services []*payments.Service
	payers   []payer // each pays at one of the services
}

func startEffectRig(t *testing.T, s settings) *effectRig {
	t.Helper()
	r := &effectRig{cluster: startCluster(t, s)}
	keyed, keyless := startPayments(t, payments.Options{}), startPayments(t, payments.Options{IgnoreKeys: true})
	r.services = []*payments.Service{keyed.Service, keyless.Service}
	r.payers = []payer{
		{"pay", true, keyed.Service},
		{"pay_once", false, keyless.Service},
		{"program", true, keyed.Service},
		{"program_once", false, keyless.Service},
	}
	r.runner = []string{
		"testrunner", "--payments", keyed.url, "--keyless", keyless.url, "--workspace", t.TempDir(),
		"--tools", r.declare("program", keyed.url, true), "--tools", r.declare("program_once", keyless.url, false),
	}
	for n := 1; n <= 2; n++ {
		r.startOrchestrator(fmt.Sprintf("orchestrator-%d", n))
		r.startRunner(fmt.Sprintf("toolrunner-%d", n))
	}
	var names []string
	for _, p := range r.payers {
		names = append(names, p.tool)
	}
	r.untilOffered(names...)
	r.nc, r.cl, r.read = r.connect(), r.client(), r.reader()
	return r
}

// declare writes the file that makes the paying program a tool.
func (r *effectRig) declare(name, service string, idempotent bool) (path string) {
	r.t.Helper()
	path = filepath.Join(r.dir, name+".yaml")
	content := "tools:" + fmt.Sprintf(payingProgram, name, filepath.Join(binaries, "testpayer"), service, idempotent)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// listeningPayments is a service that takes payments, and where.
type listeningPayments struct {
	*payments.Service
	url string
}

func startPayments(t *testing.T, o payments.Options) listeningPayments {
	t.Helper()
	service := payments.New(o)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Cleanup(service.Close)
	return listeningPayments{Service: service, url: server.URL}
}

// purchase has a chat of its own buy something, which is not begun.
func (r *effectRig) purchase(p payer, victim, moment string, round int) purchase {
	return purchase{
		payer: p, key: r.cl.Key(client.NewID()), victim: victim, moment: moment,
		reference: fmt.Sprintf("%s for %s %s %d", p.tool, victim, moment, round),
	}
}

// begin says what is to be bought.
func (r *effectRig) begin(p purchase) {
	r.t.Helper()
	r.bought = append(r.bought, p)
	if _, err := r.cl.Command(patient(r.t), p.key.Chat, protocol.Create{V: protocol.Version}); err != nil {
		r.t.Fatal(err)
	}
	say(r.t, r.cl, p.key.Chat, p.reference)
}

// claimOf waits for the first claim of a chat's call, from before it is asked for.
func (r *effectRig) claimOf(k events.Key) (wait func(context.Context) error) {
	r.t.Helper()
	claims, err := r.nc.SubscribeSync(protocol.ClaimSubject(k))
	if err == nil {
		err = r.nc.Flush()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return func(ctx context.Context) error {
		defer func() { _ = claims.Unsubscribe() }() // its server may be gone
		_, err := claims.NextMsgWithContext(ctx)
		return err
	}
}

// ended waits for the end of the turn that buys something.
func (r *effectRig) ended(p purchase) history {
	r.t.Helper()
	return r.read.until(r.t, p.key, "the end of its turn: "+p.reference, func(h history) bool { return h.ended(1) })
}

// purchased is what the log says of a purchase, and what the service does.
type purchased struct {
	purchase
	status  events.ToolStatus
	effects int
	call    events.ToolRequested
}

// outcomes waits for every purchase, and judges the law: an effect has a result
// that is ok or unknown, what is ok has its effect, and no call has two.
func (r *effectRig) outcomes() []purchased {
	r.t.Helper()
	effects := map[string]int{}
	for _, s := range r.services {
		for _, e := range s.Effects() {
			effects[e.Key]++
		}
	}
	var list []purchased
	for _, p := range r.bought {
		h := r.ended(p)
		asked, results := every[events.ToolRequested](h), every[events.ToolCompleted](h)
		if len(asked) != 1 || len(results) != 1 {
			r.t.Errorf("%s: %d calls and %d results, want one of each\n%s", p.reference, len(asked), len(results), h)
			continue
		}
		got := purchased{purchase: p, status: results[0].Status, call: asked[0], effects: effects[asked[0].Key]}
		delete(effects, asked[0].Key)
		if wrong := got.wrong(); wrong != "" {
			r.t.Errorf("%s: %s: its result is %s, the service has %d effects\n%s", p.reference, wrong, got.status, got.effects, h)
		}
		list = append(list, got)
	}
	for key, n := range effects {
		r.t.Errorf("%d effects with the key %s, which no call has", n, key)
	}
	return list
}

// wrong is what a purchase breaks, or nothing.
func (p purchased) wrong() string {
	switch {
	case p.effects > 1:
		return "an effect happened twice"
	case p.idempotent && (p.status != events.ToolOK || p.effects != 1):
		return "a tool that may run again did not"
	case p.status != events.ToolOK && p.status != events.ToolUnknown:
		return "that is no outcome of an effect"
	case p.status == events.ToolOK && p.effects != 1:
		return "what was reported did not happen"
	case p.idempotent || p.moment == atClaim: // what dies at a claim may be early or late by a moment
	case !slices.Contains(victimsOf(p.victim), "toolrunner-1") && p.status != events.ToolOK:
		return "its runner lived, and knew"
	case slices.Contains(victimsOf(p.victim), "toolrunner-1") && (p.status != events.ToolUnknown || p.effects != 1):
		return "whoever saw it happen had died"
	}
	return ""
}

// judge looks at everything else: every log, with what the services have seen.
func (r *effectRig) judge(list []purchased) {
	r.t.Helper()
	var keys []events.Key
	var effects []verify.Effect
	for _, p := range list {
		keys = append(keys, p.key)
		for range p.effects {
			effects = append(effects, verify.Effect{Key: p.key, Call: p.call.Call, IdempotencyKey: p.call.Key})
		}
	}
	r.checkWith(r.read, keys, effects)
	r.everturn("verify")
}
