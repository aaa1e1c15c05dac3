package roles

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol"
	"github.com/nats-io/nats.go"
)

// line is a connection that speaks the protocol by hand, since client libraries
// write headers in one form only.
type line struct {
	*bus
	conn net.Conn
	in   *bufio.Reader
}

func (b *bus) raw(name string) *line {
	b.Helper()
	u, _ := b.conf.User(name)
	l := b.hello(b.server.Addr().String(), u.Name, u.Password)
	l.done()
	return l
}

// hello connects and says who it is.
func (b *bus) hello(address, name, password string) *line {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
	b.must(err)
	b.Cleanup(func() { _ = conn.Close() })
	l := &line{bus: b, conn: conn, in: bufio.NewReader(conn)}
	hello, err := json.Marshal(map[string]any{
		"user": name, "pass": password, "name": name, "headers": true, "no_responders": true, "verbose": false, "pedantic": false,
	})
	b.must(err)
	l.write("CONNECT " + string(hello) + "\r\n")
	return l
}

func (l *line) write(text string) {
	l.Helper()
	_, err := l.conn.Write([]byte(text))
	l.must(err)
}

// publish sends a message whose header block is exactly head.
func (l *line) publish(subject, reply, head, body string) {
	l.Helper()
	l.write(fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s\r\n", subject, reply, len(head), len(head)+len(body), head, body))
}

// done waits until the server has read everything.
func (l *line) done() {
	l.Helper()
	l.write("PING\r\n")
	for {
		text, err := l.in.ReadString('\n')
		l.must(err)
		if strings.HasPrefix(text, "PONG") {
			return
		}
	}
}

// TestNobodyIsALeafNode connects, on a server that has leaf nodes, the way they
// do. Only somebody of whom no way of connecting is asked gets in.
func TestNobodyIsALeafNode(t *testing.T) {
	t.Parallel()

	b := startBus(t, asShipped)
	state, err := b.server.Varz(nil)
	b.must(err)
	leaves := net.JoinHostPort("127.0.0.1", strconv.Itoa(state.LeafNode.Port))
	let := func(name, password string) bool {
		l := b.hello(leaves, name, password)
		l.write("PING\r\n")
		for {
			text, err := l.in.ReadString('\n')
			switch {
			case err != nil, strings.HasPrefix(text, "-ERR"):
				return false
			case strings.HasPrefix(text, "PONG"):
				return true
			}
		}
	}
	if !let(witnessName, witnessName) {
		t.Fatal("the witness is no leaf node either")
	}
	for _, u := range b.conf.Users {
		if let(u.Name, u.Password) {
			t.Errorf("%s was taken for a leaf node", u.Name)
		}
	}
}

// TestWhoAsksCannotBeForged sends claims whose headers say that they come from
// another group, in every spelling that some reader takes for a header.
func TestWhoAsksCannotBeForged(t *testing.T) {
	t.Parallel()

	b := startBus(t, asShipped)
	claims := make(chan *nats.Msg, 64)
	orchestrator := b.connect("orchestrator")
	_, err := orchestrator.ChanSubscribe(protocol.ClaimSubject(everyChat), claims)
	b.must(err)
	b.must(orchestrator.Flush())
	runner := b.raw("runner-files")
	const lie = `Nats-Request-Info: {"acc":"RUNNER-web"}`
	heads := []string{
		"NATS/1.0\r\n\r\n",
		"NATS/1.0\r\n" + lie + "\r\n\r\n",
		"NATS/1.0\r\n" + lie + "\r\n" + lie + "\r\n\r\n",
		"NATS/1.0\r\nX: y\n" + lie + "\r\n\r\n",
		"NATS/1.0\r\nX: y\n" + lie + "\n\r\n",
		"NATS/1.0\r\n" + strings.ToLower(lie) + "\r\n\r\n",
		"NATS/1.0\r\nNats-Request-Info : {\"acc\":\"RUNNER-web\"}\r\n\r\n",
		"NATS/1.0\r\nNats-Request-InfoNats-Request-Info: x\r\n" + lie + "\r\n\r\n",
		"NATS/1.0 503 " + lie + "\r\n" + lie + "\r\n\r\n",
		"NATS/1.0\r\nX: y\r\n " + lie + "\r\n\r\n",
	}
	for _, head := range heads {
		runner.publish(protocol.ClaimSubject(chat(globex)), inbox, head, "{}")
	}
	runner.done()
	b.must(orchestrator.Flush())
	if len(claims) == 0 {
		t.Fatal("no claim arrived")
	}
	for range len(claims) {
		m := <-claims
		if group, ok := protocol.RequestGroup(m.Header[protocol.HeaderRequestInfo]); !ok || group != files {
			t.Errorf("group %q (%v) for header %q", group, ok, m.Header)
		}
	}
}

// TestOddHeaderBlocks aims the server's own headers at subjects of others, in
// forms that client libraries do not write.
func TestOddHeaderBlocks(t *testing.T) {
	t.Parallel()

	for _, role := range []string{"client-acme", "runner-files"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()

			s := setStage(t, role, asShipped)
			raw := s.raw(role)
			for _, head := range oddHeads() {
				for _, subject := range s.lines {
					raw.publish(subject, inbox, head, `{"v":1}`)
				}
			}
			raw.done()
			s.play(t, attack{})
		})
	}
}

func oddHeads() []string {
	orders := []string{"Nats-Rollup: all", "Nats-TTL: 1s"}
	for _, target := range foreignSubjects() {
		if strings.Contains(target, globex) {
			orders = append(orders, "Nats-Trace-Dest: "+target, "Nats-Schedule: @at 2020-01-01T00:00:00Z\r\nNats-Schedule-Target: "+target)
		}
	}
	var heads []string
	for _, order := range orders {
		heads = append(heads,
			"NATS/1.0 503\r\n"+order+"\r\n\r\n",
			"NATS/1.0 100 Idle\r\n"+order+"\r\n\r\n",
			"NATS/1.0\r\nX: y\n"+order+"\r\n\r\n",
			"NATS/1.0\r\n\r\n"+order+"\r\n\r\n",
			"NATS/1.0\r\n"+strings.ToLower(order)+"\r\n\r\n",
		)
	}
	return heads
}
