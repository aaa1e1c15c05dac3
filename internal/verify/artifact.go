package verify

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// creates reports whether the call is one of the tool that keeps artifacts.
func (h *history) creates(c *call) bool {
	if c.name != chat.ToolCreateArtifact {
		return false
	}
	tool, ok := h.turn.tool(c.name)
	return !ok || tool.Group == "" && !tool.Client
}

// kept judges I8 and I9 for what a call keeps for people: only successful ones do,
// and no rule says that one was successful.
func (h *history) kept(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	switch {
	case e.Status == events.ToolOK && h.creates(c):
		h.created(c, e)
	case len(e.Artifacts) == 0:
	case e.Status != events.ToolOK, h.closing, h.cause.Kind != events.CausedByResult:
		h.breaks(RuleLicence, c.asked, "%s is %s of %s, and keeps an artifact", what, e.Status, c.name)
	default:
		if n := len(e.Artifacts); n > events.MaxArtifactsPerCall {
			h.breaks(RuleBounds, c.asked, "%s keeps %d artifacts, at most %d may be", what, n, events.MaxArtifactsPerCall)
		}
		for _, a := range e.Artifacts {
			h.artifact(c, a)
		}
	}
}

// created judges a call by which a model keeps what it writes itself: it does so with
// its step, and keeps what it says.
func (h *history) created(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s keeps an artifact, though %s", what, why)
	}
	if c.asked != h.here {
		h.breaks(RuleLicence, c.asked, "%s keeps an artifact later than its step", what)
	}
	if n := len(e.Artifacts); n != 1 {
		h.breaks(RuleResults, c.asked, "%s succeeded, and keeps %d artifacts", what, n)
	}
	for _, a := range e.Artifacts {
		h.artifact(c, a)
		h.says(c, a)
	}
}

// artifact judges I8 and I20 for one that is kept: it is the next of its title.
func (h *history) artifact(c *call, a events.Artifact) {
	what := describe(c.id, "call")
	if want := h.artifacts[a.Title] + 1; a.Version != want {
		h.breaks(RuleResults, c.asked, "%s keeps version %d of %q where version %d should be", what, a.Version, a.Title, want)
	}
	if h.artifacts == nil {
		h.artifacts = make(map[string]int)
	}
	h.artifacts[a.Title] = a.Version
	if n := len(h.artifacts); n > events.MaxArtifacts {
		h.breaks(RuleBounds, c.asked, "%s makes it %d artifacts, at most %d may be", what, n, events.MaxArtifacts)
	}
	if n := utf8.RuneCountInString(a.Title); n < 1 || n > events.MaxArtifactTitleChars {
		h.breaks(RuleBounds, c.asked, "%s keeps an artifact with a title of %d characters, want 1 to %d", what, n, events.MaxArtifactTitleChars)
	}
	if a.Bytes < 1 || a.Bytes > protocol.MaxUploadBytes {
		h.breaks(RuleBounds, c.asked, "%s keeps an artifact of %d bytes, want 1 to %d", what, a.Bytes, protocol.MaxUploadBytes)
	}
}

// says judges I8 for an artifact whose content is in the arguments.
func (h *history) says(c *call, a events.Artifact) {
	if c.blob != "" {
		return // what it says lies apart
	}
	what := describe(c.id, "call")
	var said struct {
		Title   string `json:"title"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(c.arguments), &said); err != nil {
		h.breaks(RuleResults, c.asked, "%s keeps an artifact, and its arguments cannot be read", what)
		return
	}
	content := events.RepairText(said.Content)
	if events.DigestOf([]byte(content)) != a.Digest || int64(len(content)) != a.Bytes {
		h.breaks(RuleResults, c.asked, "%s keeps another content than it says", what)
	}
	if title := strings.TrimSpace(events.RepairText(strings.Join(strings.Fields(said.Title), " "))); title != a.Title {
		h.breaks(RuleResults, c.asked, "%s keeps %q, and says %q", what, a.Title, title)
	}
}
