//go:build processes

package npmclients

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	// runTime is for all clients, on a machine that is busy with other things.
	runTime = 5 * time.Minute

	// stopTime is for a process that was told to end.
	stopTime = 30 * time.Second

	lookAgain = 20 * time.Millisecond
)

// Real clients, a real process, and a model that answers from a script.
func TestClientsOfOpenAI(t *testing.T) {
	t.Parallel()
	url, token := dev(t)
	for _, file := range []string{"openai.test.mjs", "aisdk.test.mjs"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), runTime)
			defer cancel()
			run := exec.CommandContext(ctx, "node", "--test", file)
			run.Env = append(os.Environ(), "EVERTURN_URL="+url, "EVERTURN_TOKEN="+token)
			out, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%v; make npmclients installs what it needs\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// dev starts everturn dev, and gives the address of its gateway and a token for it.
func dev(t *testing.T) (url, token string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "everturn")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/everturn").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(binary, "dev", "--json", "--store", t.TempDir(), "--port", "0", "--http", "127.0.0.1:0", "--script", "script.yaml")
	clean := append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "NATS_URL=", "NATS_CONTEXT=")
	server.Env = clean
	server.Stderr = os.Stderr
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(stopTime, func() { _ = server.Process.Kill() })
		defer kill.Stop()
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("everturn dev: %v", err)
		}
	})
	var where struct {
		NATS string `json:"nats_url"`
		HTTP string `json:"http_url"`
	}
	if err := json.NewDecoder(said).Decode(&where); err != nil || where.HTTP == "" {
		t.Fatalf("it says %+v: %v", where, err)
	}
	create := exec.CommandContext(t.Context(), binary, "tokens", "create", "npm", "--json", "--server", where.NATS)
	create.Env = clean
	out, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(out, &made); err != nil || made.Token == "" {
		t.Fatalf("it says %s: %v", out, err)
	}
	for !counts(t, where.HTTP, made.Token) { // gateways hear of a token a moment after it was made
		select {
		case <-t.Context().Done():
			t.Fatal("the token never counts")
		case <-time.After(lookAgain):
		}
	}
	return where.HTTP, made.Token
}

// counts reports whether the gateway takes the token.
func counts(t *testing.T, url, token string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode == http.StatusOK
}
