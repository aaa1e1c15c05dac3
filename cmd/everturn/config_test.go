package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured is what config print says about a setting.
func configured(t *testing.T, r ran, name string) setting {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	for line := range strings.Lines(r.out) {
		var s setting
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Name == name {
			return s
		}
	}
	return setting{}
}

// A flag counts more than its variable, that more than the context, that more
// than the default; and nothing that is secret is shown.
func TestConfigPrintSaysWhereEverySettingComesFrom(t *testing.T) { // not parallel: it sets the environment
	home := t.TempDir()
	context := filepath.Join(home, "nats", "context", "work.json")
	for file, text := range map[string]string{
		context: `{"url": "nats://ctx:hush@context:4222", "user": "ann", "password": "hush", "jetstream_domain": "leaf"}`,
		filepath.Join(home, "nats", "context.txt"): "work",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	models := written(t, "models.yaml", "default: b\nmodels:\n  - {name: a, provider: anthropic, api_key_env: KEY_A}\n  - {name: b, provider: script}\n")
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("KEY_A", "hush")
	t.Setenv("NATS_URL", "")
	for _, name := range []string{"NATS_URL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		if err := os.Unsetenv(name); err != nil { // until the end of the test
			t.Fatal(err)
		}
	}
	ask := func(args ...string) ran {
		r := command(t, strings.NewReader(""), nil, append([]string{"config", "print"}, args...)...)
		if strings.Contains(r.out+r.err, "hush") {
			t.Errorf("%q shows a secret:\n%s%s", args, r.out, r.err)
		}
		return r
	}
	ask()
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want setting
	}{
		{"a default", nil, nil, setting{Name: "timeout", Value: "5s", Source: "default"}},
		{"a context", nil, nil, setting{Name: "server", Value: "nats://context:4222", Secret: true, Source: "context", From: context}},
		{"a context's user", nil, nil, setting{Name: "user", Value: "ann", Source: "context", From: context}},
		{"a context's password", nil, nil, setting{Name: "password", Secret: true, Source: "context", From: context}},
		{"a context's domain", nil, nil, setting{Name: "js-domain", Value: "leaf", Source: "context", From: context}},
		{"another identity in place of the context's", nil, []string{"--token", "hush"}, setting{}},
		{
			"a variable",
			map[string]string{"NATS_URL": "nats://hush@variable"},
			nil,
			setting{Name: "server", Value: "nats://variable", Secret: true, Source: "environment", From: "NATS_URL"},
		},
		{
			"a flag",
			map[string]string{"NATS_URL": "variable"},
			[]string{"--server", "nats://flag"},
			setting{Name: "server", Value: "nats://flag", Source: "flag"},
		},
		{"a file", nil, []string{"--models", models}, setting{Name: "model", Value: "b", Source: "file", From: models}},
		{
			"a model of a file", nil,
			[]string{"--models", models},
			setting{Name: "models.a", Value: "anthropic a, key in KEY_A: set", Source: "file", From: models},
		},
		{
			"a provider's key",
			map[string]string{"OPENAI_API_KEY": "hush", "OPENAI_MODEL": "o"},
			nil,
			setting{Name: "model", Value: "o", Source: "environment", From: "OPENAI_API_KEY"},
		},
		{"a quota", nil, nil, setting{Name: "quota-open-turns", Value: "100", Source: "default"}},
		{
			"a variable of a gateway",
			map[string]string{"EVERTURN_LISTEN": ":80"},
			nil,
			setting{Name: "listen", Value: ":80", Source: "environment", From: "EVERTURN_LISTEN"},
		},
		{"no gateway in dev", map[string]string{"EVERTURN_HTTP": ""}, nil, setting{Name: "http", Value: "none", Source: "environment", From: "EVERTURN_HTTP"}},
		{"no key", nil, nil, setting{Name: "model", Value: "script", Source: "default"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			name := tt.want.Name
			if name == "" {
				name = "user"
			}
			if got := configured(t, ask(append(tt.args, "--json")...), name); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestConfigCheckTellsEveryProblemWithItsPlace(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("EVERTURN_MODLES", "x")
	models := written(t, "models.yaml", "models:\n  - name: a\n    api_key: hush\n")
	topology := written(t, "streams.yaml", "shards: 4\nshrads: 5\n")
	args := []string{"config", "check", "--models", models, "--streams", topology, "--context", "nobody"}
	r := command(t, strings.NewReader(""), nil, args...)
	if r.code != 2 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "config check", r.out,
		"EVERTURN_MODLES: nothing reads this variable", `unknown context "nobody"`,
		topology+":2:1: unknown field \"shrads\"\n  2 | shrads: 5\n    | ^",
		models+":3:5: unknown field \"api_key\"\n  3 |     api_key: …\n    |     ^")
	if strings.Contains(r.out, "hush") {
		t.Errorf("a secret is shown:\n%s", r.out)
	}
	r = command(t, strings.NewReader(""), nil, append(args, "--json")...)
	found := objects(t, "config check", r.out)
	if r.code != 2 || len(found) != 4 {
		t.Fatalf("code %d:\n%s", r.code, r.out)
	}
	if last := found[3]; last["file"] != models || last["line"] != 3.0 || last["column"] != 5.0 || last["ok"] != false {
		t.Errorf("got %v", last)
	}
}

func TestConfigCheckOfWhatIsRight(t *testing.T) {
	t.Parallel()
	r := command(t, strings.NewReader(""), nil, "config", "check")
	if r.code != 0 || strings.Count(r.out, "ok  ") != 4 {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.out)
	}
}

// What dev tells to type can be typed, wherever the binary lies.
func TestDevNamesTheBinaryAsItWasCalled(t *testing.T) {
	t.Parallel()
	for called, want := range map[string]string{
		"bin/everturn": "  bin/everturn send ", "/opt/e/everturn": "  /opt/e/everturn send ", "everturn": "  everturn send ", "": "  everturn send ",
	} {
		var out buffer
		s := &surroundings{stdout: &out, called: called}
		if err := (&devCommand{}).running(s, "nats://here", "http://there"); err != nil {
			t.Fatal(err)
		}
		says(t, called, out.String(), want, "export NATS_URL=nats://here\n", "Open http://there ")
	}
}
