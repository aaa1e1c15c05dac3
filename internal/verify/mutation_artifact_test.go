package verify_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// artifactStory is a chat that keeps two versions of one artifact, and another one
// beside what a runner does.
func artifactStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Tools: &[]string{chatgen.ToolRead, chat.ToolCreateArtifact}})
	c.Send("one")
	c.Answer(chatgen.Call(chat.ToolCreateArtifact, chatgen.ArgumentsArtifact("Plan", "a")))
	c.Answer(
		chatgen.Call(chat.ToolCreateArtifact, chatgen.ArgumentsArtifact("Plan", "b")),
		chatgen.Call(chat.ToolCreateArtifact, chatgen.ArgumentsArtifact("Drawing", "c")),
		chatgen.Call(chatgen.ToolRead, ""),
	)
	third := events.CallID{Turn: 1, Step: 2, Ordinal: 3}
	c.Claim(third, 1)
	c.Makes(third, "Plan", "src/main.go")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// artifactMutations are what artifacts add to I8, I9, I18 and I20.
func artifactMutations() []mutation {
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, artifactStory, mutate}
	}
	made := func(n int, with func(*events.Artifact)) func(log) log {
		return func(l log) log {
			return change(l, n, func(e *events.ToolCompleted) {
				e.Artifacts = slices.Clone(e.Artifacts)
				with(&e.Artifacts[0])
			})
		}
	}
	another := events.DigestOf([]byte("another"))
	return []mutation{
		of(verify.RuleResults, "changed: a version is left out", made(2, func(a *events.Artifact) { a.Version = 3 })),
		of(verify.RuleResults, "changed: a version comes twice", made(2, func(a *events.Artifact) { a.Version = 1 })),
		of(verify.RuleResults, "changed: the title of an artifact", made(3, func(a *events.Artifact) { a.Title = "Another" })),
		of(verify.RuleResults, "changed: the content of an artifact", made(1, func(a *events.Artifact) { a.Digest = another })),
		of(verify.RuleResults, "changed: the size of an artifact", made(1, func(a *events.Artifact) { a.Bytes++ })),
		of(verify.RuleTenants, "changed: the content of an artifact is no digest", made(1, func(a *events.Artifact) { a.Digest = "sha256:1" })),
		of(verify.RuleBounds, "changed: an artifact without a title", made(1, func(a *events.Artifact) { a.Title = "" })),
		of(verify.RuleResults, "changed: a call that succeeded keeps nothing", func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Artifacts = nil })
		}),
		of(verify.RuleResults, "changed: a call keeps two artifacts", func(l log) log {
			return change(l, 3, func(e *events.ToolCompleted) {
				more := e.Artifacts[0]
				more.Version++
				e.Artifacts = append(slices.Clone(e.Artifacts), more)
			})
		}),
		of(verify.RuleResults, "changed: a version of what a runner made is left out", made(4, func(a *events.Artifact) { a.Version++ })),
		of(verify.RuleBounds, "changed: what a runner made is too large", made(4, func(a *events.Artifact) { a.Bytes = 17 << 20 })),
		of(verify.RuleTenants, "changed: what a runner made has no digest", made(4, func(a *events.Artifact) { a.Digest = "" })),
		of(verify.RuleBounds, "changed: a runner made very much", func(l log) log {
			return change(l, 4, func(e *events.ToolCompleted) {
				for i := range events.MaxArtifactsPerCall {
					e.Artifacts = append(slices.Clip(e.Artifacts), events.Artifact{Title: fmt.Sprint(i), Version: 1, Type: "text/plain", Digest: another, Bytes: 7})
				}
			})
		}),
		of(verify.RuleLicence, "changed: a runner's call that failed keeps an artifact", func(l log) log {
			return change(l, 4, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolError, true })
		}),
		of(verify.RuleLicence, "changed: a call that failed keeps an artifact", func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolInvalid, true })
		}),
		of(verify.RuleLicence, "moved: an artifact is kept later than its step", func(l log) log {
			return l.move(nth[events.ToolCompleted](l, 3), nth[events.ToolCompleted](l, 4))
		}),
	}
}
