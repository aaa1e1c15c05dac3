package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner/mcp"
)

func load(t *testing.T, content string) (mcp.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return mcp.Load(path, func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "s3cret-value", "EMPTY": ""}[name]
		return value, ok
	})
}

func TestAFileAsOtherProgramsHaveIt(t *testing.T) {
	t.Parallel()
	f, err := load(t, `{
  "globalShortcut": "of another program",
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "server-filesystem", "/srv"], "env": {"KEY": "${TOKEN}", "MODE": "${EMPTY:-fast}"}},
    "web": {"type": "streamable-http", "url": "https://example.com/mcp?k=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}, "policy": "allow"},
    "off": {"command": "x", "disabled": true}
  }
}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Servers) != 2 || f.Servers[0].Name != "files" || f.Servers[0].Env["KEY"] != "s3cret-value" || f.Servers[0].Env["MODE"] != "fast" {
		t.Fatalf("%+v", f.Servers)
	}
	web := f.Servers[1]
	if web.Headers["Authorization"] != "Bearer s3cret-value" || web.URL != "https://example.com/mcp?k=s3cret-value" || web.Policy != events.PolicyAllow {
		t.Errorf("%+v", web)
	}
}

func TestWhatIsWrongWithAFileIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content string
		want          []string
	}{
		{"no JSON", "{\n  \"mcpServers\": {\n    \"a\": nonsense", []string{":3:11: this is no JSON"}},
		{"nothing in it", `{}`, []string{"want mcpServers, an object"}},
		{"a field nobody knows", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\",\n    \"netwrk\": true}}}", []string{":3:", "a.netwrk: there is no such field"}},
		{"a wrong kind", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\", \"args\": \"secret\"}}}", []string{":2:25: a.args: want a list of texts"}},
		{"no time", `{"mcpServers": {"a": {"command": "x", "timeout": "soon"}}}`, []string{":1:39: a.timeout: want a time such as 90s"}},
		{"twice", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, []string{"stands twice"}},
		{"neither", `{"mcpServers": {"a": {}}}`, []string{":1:17: a: want command or url"}},
		{"both", `{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}`, []string{"a.url: there is a command, too"}},
		{"the old transport", `{"mcpServers": {"a": {"type": "sse", "url": "http://h"}}}`, []string{"a.type: servers of the old HTTP transport"}},
		{"a kind that does not fit", `{"mcpServers": {"a": {"type": "http", "command": "x"}}}`, []string{"a.type: want stdio"}},
		{"no address", `{"mcpServers": {"a": {"url": "ftp://s3cret"}}}`, []string{"a.url: want http"}},
		{"a command with headers", `{"mcpServers": {"a": {"command": "x", "headers": {"A": "b"}}}}`, []string{"a.headers: a command has none"}},
		{"a url with an environment", `{"mcpServers": {"a": {"url": "http://h", "env": {"A": "b"}}}}`, []string{"a.env: a url has none"}},
		{"a variable that is not there", "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n \"env\": {\"K\": \"${NOT_THERE}\"}}}}", []string{":2:10: a.env.K: there is no variable NOT_THERE"}},
		{"a policy nobody knows", `{"mcpServers": {"a": {"command": "x", "policy": "perhaps"}}}`, []string{"a.policy: want allow, ask or review"}},
		{"a pattern that is none", `{"mcpServers": {"a": {"command": "x", "readOnly": ["fine", "[" ]}}}`, []string{"a.readOnly.1: this is no pattern"}},
		{"names that would be one", `{"mcpServers": {"a b": {"command": "x"}, "a_b": {"command": "y"}}}`, []string{"the same names"}},
		{
			"several things at once", "{\"mcpServers\": {\n \"a\": {\"policy\": \"x\", \"command\": \"c\"},\n \"b\": {\"sandbox\": \"maybe\", \"command\": \"c\"},\n \"c\": {\"what\": 1}}}",
			[]string{":2:8: a.policy", ":3:8: b.sandbox", ":4:", "c.what"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.content)
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a value is shown: %v", err)
			}
		})
	}
}
