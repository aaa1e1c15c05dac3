//go:build processes

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/streams"
)

const (
	nodesInCluster = 3
	home           = 0 // the server at which a test begins, and that is not stopped under it
	shippedConfig  = "../../packaging/examples/nats-server.conf"
)

// Users of the shipped configuration, as `everturn server --auth` names them.
const (
	userOrchestrator = "orchestrator"
	userProjection   = "projection"
	userRunner       = "runner-builtin"
	userOperator     = "operator"
)

// node is one server of three: its name, and where it is found.
type node struct {
	name    string
	clients int // ports
	routes  int
	monitor int
}

// nodes is a cluster whose server is three of them, each a nats-server with the
// configuration that is shipped, and whose parts have the users made for them.
type nodes struct {
	*cluster
	list     []node
	etc      string              // the folder with the configuration
	secrets  map[string]string   // password of each user
	operator jetstream.JetStream // made when it is needed first
}

// startNodes starts three servers and makes the streams.
func startNodes(t *testing.T, s settings) *nodes {
	t.Helper()
	n := prepareNodes(t, s)
	n.launchAll()
	return n
}

// prepareNodes gives three servers what they need to start.
func prepareNodes(t *testing.T, s settings) *nodes {
	t.Helper()
	n := &nodes{cluster: newCluster(t, s)}
	n.list, n.etc = n.freeNodes(), filepath.Join(n.dir, "etc")
	n.configure(n.made())
	return n
}

// launchAll starts the servers and makes the streams.
func (n *nodes) launchAll() {
	n.t.Helper()
	for _, node := range n.list {
		n.launchNode(node)
	}
	n.untilHealthy()
	n.everturn("streams", "apply")
}

// freeNodes are three nodes with ports that nobody listens on.
func (n *nodes) freeNodes() []node {
	n.t.Helper()
	ports := freeport.Of(n.t, 3*nodesInCluster)
	list := make([]node, nodesInCluster)
	for i := range list {
		list[i] = node{name: fmt.Sprintf("n%d", i+1), clients: ports[3*i], routes: ports[3*i+1], monitor: ports[3*i+2]}
	}
	return list
}

// made is the folder with what `everturn server --auth` makes: accounts, what
// routes may not bring, and a context for each user.
func (n *nodes) made() string {
	n.t.Helper()
	made := n.serveWithAccounts("maker", filepath.Join(n.dir, "made"), 0)
	n.terminate("maker")
	return made
}

// serveWithAccounts starts a single server, and gives the folder with what it has
// made of its accounts.
func (n *nodes) serveWithAccounts(name, store string, port int) string {
	n.t.Helper()
	p, out := n.startPiped(name, "everturn", "server", "--auth", "--port", fmt.Sprint(port), "--store", store)
	line := bufio.NewScanner(out)
	if !line.Scan() { // it says who may connect when all is written
		<-p.done
		n.t.Fatalf("%s ended: %v\n%s", name, p.end, read(p.log))
	}
	go func() { // so that the pipe never breaks; ends with the process
		for line.Scan() {
		}
	}()
	return filepath.Join(store, "roles")
}

// configure lays the files beside each other as the shipped one includes them,
// and notes who may connect, from the contexts.
func (n *nodes) configure(made string) {
	n.t.Helper()
	if err := os.Mkdir(n.etc, 0o700); err != nil {
		n.t.Fatal(err)
	}
	for _, from := range []string{shippedConfig, filepath.Join(made, "accounts.conf"), filepath.Join(made, "routes.conf")} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(n.etc, filepath.Base(from)), content, 0o600)
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
	n.secrets = map[string]string{}
	for _, user := range []string{userOrchestrator, userProjection, userRunner, userOperator} {
		var known struct{ Password string }
		if err := json.Unmarshal([]byte(read(filepath.Join(made, user+".json"))), &known); err != nil {
			n.t.Fatal(err)
		}
		n.secrets[user] = known.Password
	}
	n.url = n.urlAt(home, userOperator)
	n.users = func(user, part string) string {
		_, number, _ := strings.Cut(part, "-")
		at, err := strconv.Atoi(number)
		if err != nil {
			n.t.Fatal(err)
		}
		return n.urlAt((at-1)%len(n.list), user)
	}
}

// urlAt is how a user connects first. Where the other servers are is what that
// one says: part number 1 begins at n1, and so on.
func (n *nodes) urlAt(at int, user string) string {
	return fmt.Sprintf("nats://%s:%s@127.0.0.1:%d", user, n.secrets[user], n.list[at].clients)
}

// launchNode starts a server, again on the same store after a stop.
func (n *nodes) launchNode(of node) *process {
	n.t.Helper()
	var routes []string
	for _, each := range n.list {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", each.routes))
	}
	cmd := exec.Command(filepath.Join(binaries, "nats-server"), "-c", filepath.Join(n.etc, filepath.Base(shippedConfig)))
	return n.launch(of.name, cmd,
		"NODE_NAME="+of.name,
		fmt.Sprintf("NODE_LISTEN=127.0.0.1:%d", of.clients),
		fmt.Sprintf("NODE_MONITOR=127.0.0.1:%d", of.monitor),
		fmt.Sprintf("NODE_CLUSTER=127.0.0.1:%d", of.routes),
		"NODE_ROUTES=["+strings.Join(routes, ", ")+"]",
		"NODE_STORE="+filepath.Join(n.dir, of.name))
}

// restartNode starts a server that was stopped or killed, and waits until the
// cluster can do without another.
func (n *nodes) restartNode(name string) {
	n.t.Helper()
	for _, node := range n.list {
		if node.name == name {
			n.launchNode(node)
		}
	}
	n.untilHealthy()
}

// lameDuck ends a server as somebody would who has other plans with its machine.
func (n *nodes) lameDuck(name string) {
	n.t.Helper()
	p := n.running[name]
	cmd := exec.CommandContext(patient(n.t), filepath.Join(binaries, "nats-server"), "--signal", fmt.Sprint("ldm=", p.cmd.Process.Pid))
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	<-p.done
	delete(n.running, name)
}

// terminate ends a process as an operator does, and waits until it is gone.
func (c *cluster) terminate(name string) {
	c.t.Helper()
	p := c.running[name]
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatalf("stop %s: %v", name, err)
	}
	<-p.done
	if p.end != nil {
		c.t.Errorf("%s, told to stop, ended with %v\n%s", name, p.end, tail(read(p.log)))
	}
	delete(c.running, name)
}

// untilHealthy waits until every server says that it has caught up with the
// others, and every stream has a leader and three copies.
func (n *nodes) untilHealthy() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), clusterPatience)
	defer cancel()
	for {
		err := n.unhealthy(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			n.t.Fatalf("the cluster is not healthy: %v", err)
		case <-time.After(healthPause):
		}
	}
}

const (
	// clusterPatience is how long three servers may take to find each other again.
	clusterPatience = 2 * time.Minute

	healthPause = 250 * time.Millisecond // the server notes each no

	// healthTry is how long a server may take to say how it is. One that is
	// stopped by a signal takes for ever.
	healthTry = 2 * time.Second
)

// unhealthy is what is wrong with the cluster, as far as the servers say it.
func (n *nodes) unhealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTry)
	defer cancel()
	for _, node := range n.list {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/healthz", node.monitor), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close() // only its status counts
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s says %s", node.name, answer.Status)
		}
	}
	js := n.jetStream()
	for info := range js.ListStreams(ctx).Info() {
		if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != info.Config.Replicas-1 {
			return fmt.Errorf("stream %s is not whole: %+v", info.Config.Name, info.Cluster)
		}
		for _, r := range info.Cluster.Replicas {
			if r.Offline || !r.Current {
				return fmt.Errorf("stream %s: the copy of %s is behind", info.Config.Name, r.Name)
			}
		}
	}
	_, err := js.AccountInfo(ctx) // answered by the leader of all, also when there are no streams
	return err
}

// jetStream speaks for the operator. It is one connection for the whole test.
func (n *nodes) jetStream() jetstream.JetStream {
	n.t.Helper()
	if n.operator == nil {
		js, err := jetstream.New(n.connect())
		if err != nil {
			n.t.Fatal(err)
		}
		n.operator = js
	}
	return n.operator
}

// leader is the node that leads a stream.
func (n *nodes) leader(stream string) string {
	n.t.Helper()
	return n.otherLeader(stream, "")
}

// otherLeader waits until a node leads the stream that is not the one, and gives
// its name.
func (n *nodes) otherLeader(stream, one string) string {
	n.t.Helper()
	ctx := patient(n.t)
	for {
		try, cancel := context.WithTimeout(ctx, healthTry)
		s, err := n.jetStream().Stream(try, stream)
		cancel()
		if err == nil && s.CachedInfo().Cluster != nil {
			if leader := s.CachedInfo().Cluster.Leader; leader != "" && leader != one {
				return leader
			}
		}
		select {
		case <-ctx.Done():
			n.t.Fatalf("stream %s has no leader other than %q: %v", stream, one, err)
		case <-time.After(poll): // also after an error, which may come at once
		}
	}
}

// stepDown has another node lead the stream, as `nats stream cluster step-down`
// does, and waits until one does.
func (n *nodes) stepDown(stream string) {
	n.t.Helper()
	before := n.leader(stream)
	answer, err := n.jetStream().Conn().RequestWithContext(patient(n.t), "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	var said struct {
		Success bool                `json:"success"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil || !said.Success {
		n.t.Fatalf("%s did not step down: %s", stream, answer.Data)
	}
	n.otherLeader(stream, before)
}

// notOurs has a server lead the stream that this test is not connected to, and
// gives its name.
func (n *nodes) notOurs(stream string) string {
	n.t.Helper()
	ours := n.list[home].name
	for n.leader(stream) == ours {
		n.stepDown(stream)
	}
	return n.leader(stream)
}

// startEach starts so many of each part, one beside each server.
func (n *nodes) startEach(count int) {
	n.t.Helper()
	for i := range count {
		n.startOrchestrator(fmt.Sprintf("orchestrator-%d", i+1))
		n.startRunner(fmt.Sprintf("toolrunner-%d", i+1))
		n.startProjections(fmt.Sprintf("projections-%d", i+1))
	}
	n.toolsOnOffer()
}

// writer is a bus with an orchestrator's rights, on a connection to one node.
func (n *nodes) writer(at int) *streams.Bus {
	n.t.Helper()
	nc, err := nats.Connect(n.urlAt(at, userOrchestrator), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(nc.Close)
	bus, err := streams.Open(patient(n.t), nc, streams.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(bus.Close)
	return bus
}
