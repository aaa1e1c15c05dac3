package chat

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// builtIn is a tool that the core knows: no runner offers it, and none is given
// its calls. What it does is decided here, as everything else that a log says.
type builtIn struct {
	// manifest has no group. It is stored by content like any other, so that a
	// release with another text still finds what an old turn was shown.
	manifest protocol.Manifest

	// offered reports whether a turn has the tool whose settings do not name it.
	offered func(events.Settings) bool

	// planning reports whether a turn in plan mode has the tool, also if its settings
	// do not name it. Without, it never has it.
	planning bool

	// begin gives what a call begins with, or what is wrong with arguments that
	// fit the schema.
	begin func(b *beginning, id events.CallID, arguments string) ([]events.Event, string)
}

// beginning is what the calls of a step begin with that no runner is given.
type beginning struct {
	at        events.Time
	artifacts []artifact // of the chat, with those that these calls made so far
	contents  []Content  // what they keep, to be stored before the commit

	skills []events.Skill  // that the turn was offered
	shared []events.Digest // what they show of them
}

// builtIns is the one table of them, sorted by name.
func builtIns() []builtIn {
	return []builtIn{askUser(), createArtifact(), delegate(), viewSkill()}
}

// known is the table with what follows from it, made once.
var known = sync.OnceValue(func() knownTools {
	k := knownTools{list: builtIns(), schemas: make(map[events.Digest]*Schema)}
	for _, b := range k.list {
		tool := b.manifest.Tool()
		schema, err := CompileSchema(b.manifest.Schema)
		if err != nil {
			panic(fmt.Sprintf("chat: built-in tool %s: %v", tool.Name, err)) // it is written below
		}
		k.tools = append(k.tools, tool)
		k.schemas[tool.Manifest] = schema
	}
	return k
})

type knownTools struct {
	list    []builtIn
	tools   []events.Tool // of each in list
	schemas map[events.Digest]*Schema
}

// BuiltIns are the manifests of the tools that the core knows, sorted by name. No
// runner has them, so whoever asks models stores them.
func BuiltIns() []protocol.Manifest {
	list := known().list
	manifests := make([]protocol.Manifest, len(list))
	for i, b := range list {
		manifests[i] = b.manifest
	}
	return manifests
}

// IsBuiltIn reports whether the core has a tool of that name. No runner can have
// another.
func IsBuiltIn(name string) bool {
	return slices.ContainsFunc(known().tools, func(t events.Tool) bool { return t.Name == name })
}

// builtInOf is the tool of that name in a turn that has it. A tool without a group
// is the core's.
func builtInOf(tool events.Tool) (builtIn, bool) {
	if tool.Group != "" || tool.Client {
		return builtIn{}, false
	}
	for _, b := range known().list {
		if b.manifest.Name == tool.Name {
			return b, true
		}
	}
	return builtIn{}, false
}

// call begins a call that may run if its tool is the core's: now, for the
// arguments may be too large to be read again later. Without events the call is a
// runner's, or has a result at once.
func (b *beginning) call(id events.CallID, p events.Part, settings events.Effective) ([]events.Event, events.ToolStatus, string) {
	tool, _ := findTool(settings, p.Name)
	known, ok := builtInOf(tool)
	switch {
	case tool.Group == "" && !tool.Client && !ok: // of a release that had it
		return nil, events.ToolNotFound, fmt.Sprintf("There is no tool named %q any more.", p.Name)
	case !ok:
		return nil, "", ""
	}
	begun, wrong := known.begin(b, id, normalArguments(p.Arguments))
	if wrong != "" {
		return nil, events.ToolInvalid, wrong
	}
	return begun, "", ""
}

// offeredTools are the tools of a turn with those settings, sorted by name. One
// that is named but not on offer is left out: the model is not told of it. No more
// are taken than a turn may have, and in plan mode none that may change something. The
// one that shows skills is there with them, and never without.
func offeredTools(s events.Settings, live Live, plan, skills bool) []events.Tool {
	var tools []events.Tool
	named := func(name string) bool { return s.Tools != nil && slices.Contains(*s.Tools, name) }
	for i, b := range known().list {
		shows := b.manifest.Name == ToolViewSkill
		if shows && skills || !shows && (named(b.manifest.Name) || b.offered(s) || plan && b.planning) {
			tools = append(tools, known().tools[i])
		}
	}
	taken := make(map[string]bool)
	for _, tool := range known().tools {
		taken[tool.Name] = true
	}
	if s.ClientTools != nil {
		for _, t := range *s.ClientTools {
			tools, taken[t.Name] = append(tools, clientTool(t)), true
		}
	}
	for _, tool := range live.Tools {
		if len(tools) < MaxTools && (s.Tools == nil || named(tool.Name)) && !taken[tool.Name] && (!plan || mayPlan(tool)) {
			tools = append(tools, tool)
		}
	}
	if plan {
		tools = planTools(tools)
	}
	slices.SortStableFunc(tools, func(a, b events.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}
