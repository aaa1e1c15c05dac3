package mcp

import (
	"regexp"
	"strings"
	"testing"
)

func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 80)
	for _, tt := range []struct {
		server string
		tools  []string
		want   []string // a * stands for what follows from a digest
	}{
		{"files", []string{"read", "write-all"}, []string{"files__read", "files__write-all"}},
		{"my server", []string{"a.b", "c"}, []string{"my_server__a_b", "my_server__c"}},
		{"a__b_", []string{"_c"}, []string{"a_b___c"}},
		{"s", []string{"a.b", "a_b", "a b"}, []string{"s__a_b_*", "s__a_b", "s__a_b_*"}},
		{"s", []string{long, long + "b"}, []string{"s__" + strings.Repeat("a", 52) + "_*", "s__" + strings.Repeat("a", 52) + "_*"}},
		{"天気", []string{"予報"}, []string{"*__*"}},
		{strings.Repeat("long", 20), []string{"x"}, []string{"longlonglonglon-*__x"}},
	} {
		got := published(tt.server, tt.tools)
		seen := map[string]bool{}
		for i, tool := range tt.tools {
			name := got[tool]
			if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(name) || seen[name] {
				t.Errorf("%q of %q: %q is no name, or stands twice", tool, tt.server, name)
			}
			seen[name] = true
			pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(tt.want[i]), `\*`, "[a-f0-9_-]+") + "$"
			if !regexp.MustCompile(pattern).MatchString(name) {
				t.Errorf("%q of %q: %q, want %q", tool, tt.server, name, tt.want[i])
			}
			if !strings.HasPrefix(name, prefix(tt.server)+separator) {
				t.Errorf("%q does not begin as the tools of %q do", name, tt.server)
			}
		}
	}
}
