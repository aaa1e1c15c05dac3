//go:build processes

package runners

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

// binaries is the folder with the programs under test.
var binaries string

// asRunner is the variable that makes a copy of the test a runner in Go.
const asRunner = "RUNNERS_GO"

func TestMain(m *testing.M) {
	if os.Getenv(asRunner) != "" {
		if err := runNotes(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "everturn-runners-")
	if err == nil {
		var out []byte
		out, err = exec.Command("go", "build", "-o", dir, "../../cmd/everturn", "../../cmd/orchestrator").CombinedOutput()
		os.Stderr.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runners:", err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // a leftover in the temporary folder fails no test
	os.Exit(code)
}

// runNotes is what the examples do in their languages.
func runNotes() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	nc, err := nats.Connect(os.Getenv("NATS_URL"), nats.UserInfo(os.Getenv("NATS_USER"), os.Getenv("NATS_PASSWORD")), nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	bus, err := streams.OpenRunner(nc, streams.Options{})
	if err != nil {
		return err
	}
	defer bus.Close()
	content, err := os.ReadFile(os.Getenv("MANIFESTS"))
	if err != nil {
		return err
	}
	var manifests []protocol.Manifest
	if err := json.Unmarshal(content, &manifests); err != nil {
		return err
	}
	notes := notes{folder: os.Getenv("NOTES")}
	runs := map[string]func(context.Context, toolrunner.Call) (toolrunner.Output, error){
		"save_note": notes.save, "add_to_journal": notes.add,
	}
	var all []toolrunner.Tool
	for _, m := range manifests {
		all = append(all, toolrunner.Func(m, runs[m.Name]))
	}
	r, err := toolrunner.New(toolrunner.Config{Group: group, AckWait: ackWait}, bus, all)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// notes are the tools of the examples.
type notes struct{ folder string }

// arguments are those of both tools.
type arguments struct {
	Text    string  `json:"text"`
	Seconds float64 `json:"seconds"`
}

func (n notes) save(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
	a, err := slowly(ctx, c)
	if err != nil {
		return toolrunner.Output{}, err
	}
	return toolrunner.Output{Text: "The note is saved."}, os.WriteFile(filepath.Join(n.folder, c.Key+".txt"), []byte(a.Text), 0o600)
}

func (n notes) add(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
	journal, err := os.OpenFile(filepath.Join(n.folder, "journal.txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return toolrunner.Output{}, err
	}
	if _, err = fmt.Fprintf(journal, "%s %s\n", c.Key, c.Arguments); err == nil {
		err = journal.Close()
	}
	if err != nil {
		return toolrunner.Output{}, err
	}
	_, err = slowly(ctx, c)
	return toolrunner.Output{Text: "The line is in the journal."}, err
}

// slowly takes the time that a call asks for.
func slowly(ctx context.Context, c toolrunner.Call) (arguments, error) {
	var a arguments
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return a, err
	}
	select {
	case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
		return a, nil
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
}
