package events_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	base := everySetting()
	for _, tt := range []struct {
		name string
		over events.Settings
		want func(*events.Settings)
	}{
		{"nothing set changes nothing", events.Settings{}, func(*events.Settings) {}},
		{"an agent", events.Settings{Agent: "a"}, func(s *events.Settings) { s.Agent = "a" }},
		{"a model", events.Settings{Model: "m"}, func(s *events.Settings) { s.Model = "m" }},
		{"a system prompt", events.Settings{System: "s"}, func(s *events.Settings) { s.System = "s" }},
		{"no tools at all", events.Settings{Tools: &[]string{}}, func(s *events.Settings) { s.Tools = &[]string{} }},
		{"an approval mode", events.Settings{Approval: events.ApprovalFull}, func(s *events.Settings) { s.Approval = events.ApprovalFull }},
		{
			"one limit leaves the other",
			events.Settings{Limits: &events.Limits{Steps: 3}},
			func(s *events.Settings) { s.Limits = &events.Limits{Steps: 3, OutputTokens: 2000} },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := everySetting()
			tt.want(&want)
			if diff := cmp.Diff(want, base.Merge(tt.over)); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(everySetting(), base); diff != "" {
				t.Errorf("the receiver has changed:\n%s", diff)
			}
		})
	}
}

func TestMergeLaws(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"", "a", "b"})
	settings := rapid.Custom(func(t *rapid.T) events.Settings {
		s := events.Settings{
			Agent: word.Draw(t, "agent"), Model: word.Draw(t, "model"), System: word.Draw(t, "system"), Approval: events.ApprovalMode(word.Draw(t, "approval")),
		}
		if rapid.Bool().Draw(t, "tools") {
			s.Tools = &[]string{word.Draw(t, "tool")}
		}
		if rapid.Bool().Draw(t, "limits") {
			s.Limits = &events.Limits{
				Steps: rapid.IntRange(0, 2).Draw(t, "steps"), OutputTokens: rapid.IntRange(0, 2).Draw(t, "tokens"),
			}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := settings.Draw(t, "a"), settings.Draw(t, "b"), settings.Draw(t, "c")
		if diff := cmp.Diff(a.Merge(b).Merge(c), a.Merge(b.Merge(c))); diff != "" {
			t.Errorf("the order of merging matters:\n%s", diff)
		}
		if diff := cmp.Diff(a, a.Merge(events.Settings{})); diff != "" {
			t.Errorf("nothing changes something:\n%s", diff)
		}
		if diff := cmp.Diff(a.Merge(b), a.Merge(b).Merge(b)); diff != "" {
			t.Errorf("twice is not once:\n%s", diff)
		}
	})
}
