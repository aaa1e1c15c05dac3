package roles

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestGenerate(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		cfg  Config
		want []string // parts of the error; none means that it works
	}{
		{name: "one tenant and one group, unless somebody says otherwise"},
		{name: "many tenants and groups", cfg: Config{Tenants: []string{"a", "b-1", "c_2"}, Groups: []string{"x", "y"}}},
		{
			name: "every problem is named",
			cfg:  Config{Tenants: []string{"Acme", "a.b", "x", "x"}, Groups: []string{"*", "", "g", "g"}, Shards: -1},
			want: []string{`"Acme"`, `"a.b"`, `tenant "x" is named twice`, `group "*"`, `group ""`, `group "g" is named twice`, "-1 shards"},
		},
		{
			name: "no name leaves its place in the file",
			cfg:  Config{Tenants: []string{"x\"} }\nsystem_account: \"CLIENT"}, Groups: []string{"a\nb"}},
			want: []string{"tenant", "group"},
		},
		{
			name: "a password that cannot be hashed is refused",
			cfg:  Config{Passwords: map[string]string{"operator": strings.Repeat("x", 73)}},
			want: []string{"user operator"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := Generate(tt.cfg)
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("got error %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %s", err, part)
				}
			}
		})
	}
}

// The same installation gives the same file, but for the salt of the hashes, so
// that a diff shows what changed.
func TestTextIsStable(t *testing.T) {
	t.Parallel()

	hashes := regexp.MustCompile(`password: "[^"]*"`)
	var texts []string
	for range 2 {
		c, err := Generate(installation)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range c.Users {
			if strings.Contains(c.Text, u.Password) {
				t.Errorf("the password of %s stands in the file", u.Name)
			}
		}
		texts = append(texts, hashes.ReplaceAllString(c.Text, ""))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("two texts for one installation:\n%s", diff)
	}
}

func TestDefaultsAreThoseOfTheOthers(t *testing.T) {
	t.Parallel()

	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	if topology.Shards() != DefaultShards {
		t.Errorf("the topology has %d shards, the roles %d", topology.Shards(), DefaultShards)
	}
	if toolrunner.DefaultGroup != DefaultGroup {
		t.Errorf("runners serve %q, the account is for %q", toolrunner.DefaultGroup, DefaultGroup)
	}
}

// What Write leaves behind is enough to run a server of one's own, to connect as
// everybody, and to make the same credentials again.
func TestDirectory(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "roles")
	known, err := Passwords(dir)
	if err != nil || len(known) != 0 {
		t.Fatalf("a directory that is not there has %d passwords, error %v", len(known), err)
	}
	c, err := Generate(installation)
	if err != nil {
		t.Fatal(err)
	}
	s := serverOfOnesOwn(t, dir, c)
	onlyForOwner(t, dir)

	for _, u := range c.Users {
		nc, err := nats.Connect(s.URL(), nats.UserInfo(u.Name, u.Password))
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		nc.Close()
		if _, err := nats.Connect(s.URL(), nats.UserInfo(u.Name, u.Password+"x")); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s with a wrong password: %v", u.Name, err)
		}
	}
	if _, err := nats.Connect(s.URL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("nobody in particular: %v", err)
	}

	if known, err = Passwords(dir); err != nil {
		t.Fatal(err)
	}
	more := installation
	more.Tenants, more.Passwords = append(more.Tenants, "initech"), known
	again, err := Generate(more)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range c.Users {
		if kept, _ := again.User(u.Name); kept.Password != u.Password {
			t.Errorf("%s has another password", u.Name)
		}
	}
	if u, ok := again.User("client-initech"); !ok || u.Password == "" {
		t.Errorf("the new tenant has no client")
	}
}

// serverOfOnesOwn runs a server whose own file includes the accounts.
func serverOfOnesOwn(t *testing.T, dir string, c Configuration) *embedded.Server {
	t.Helper()
	if err := c.Write(dir, "nats://127.0.0.1:4222"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "nats-server.conf")
	text := "server_name: one\njetstream { store_dir: \"" + t.TempDir() + "\", sync_interval: always }\ninclude " + accountsFile + "\n" +
		"cluster {\n  name: c, listen: \"127.0.0.1:-1\", routes: [\"nats://127.0.0.1:1\"]\n  include " + routesFile + "\n}\n"
	if err := os.WriteFile(file, []byte(text), fileMode); err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(context.WithoutCancel(t.Context()), embedded.Options{ConfigFile: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func onlyForOwner(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != fileMode {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

func TestPrintTellsNoPassword(t *testing.T) {
	t.Parallel()

	c, err := Generate(installation)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Print(&out, "/etc/everturn"); err != nil {
		t.Fatal(err)
	}
	for _, u := range c.Users {
		if strings.Contains(out.String(), u.Password) {
			t.Errorf("the password of %s was printed", u.Name)
		}
		if !strings.Contains(out.String(), "--context "+u.ContextFile("/etc/everturn")) {
			t.Errorf("nothing says how to connect as %s:\n%s", u.Name, out.String())
		}
	}
}

func TestDamagedContextIsNamed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	file := filepath.Join(dir, "client-acme.json")
	if err := os.WriteFile(file, []byte("{"), fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Passwords(dir); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got error %v", err)
	}
}
