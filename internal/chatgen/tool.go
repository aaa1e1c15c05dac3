package chatgen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// The tools on offer, named after what is special about them.
const (
	ToolRead      = "read"   // reads only, beside others
	ToolCount     = "count"  // reads only and idempotent, alone
	ToolPut       = "put"    // has an effect, and may run again
	ToolAppend    = "append" // has an effect, and must not run twice
	ToolBoth      = "both"   // like append, beside others
	ToolSolo      = "solo"   // must be the only call of its step
	ToolFinish    = "finish" // its success ends the turn
	ToolAsk       = "ask"    // needs a person
	ToolReview    = "review" // a model judges it, or a person
	ToolUnoffered = "no_such_tool"
	ToolClient    = "client" // the client's own
)

// Arguments that the tools' schema takes, and some that it does not.
const (
	ArgumentsValid = `{"n":1}`
	ArgumentsWrong = `{"n":"one"}`
	ArgumentsCut   = `{"n":`
)

// Schema judges the arguments of every tool on offer.
func Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
}

func manifests() []protocol.Manifest {
	schema := Schema()
	yes := true
	list := []protocol.Manifest{
		{Name: ToolRead, ReadOnly: true},
		{Name: ToolCount, ReadOnly: true, Idempotent: true, Parallel: new(bool)},
		{Name: ToolPut, Idempotent: true, Policy: events.PolicyAllow},
		{Name: ToolAppend, TimeoutMS: 5_000, Policy: events.PolicyAllow},
		{Name: ToolBoth, Parallel: &yes, Policy: events.PolicyAllow},
		{Name: ToolSolo, Exclusive: true, Policy: events.PolicyAllow},
		{Name: ToolFinish, StopAfter: true, Policy: events.PolicyAllow},
		{Name: ToolAsk, Policy: events.PolicyAsk},
		{Name: ToolReview, Policy: events.PolicyReview, Parallel: &yes},
	}
	for i := range list {
		list[i].Description, list[i].Schema, list[i].Group = "A tool named "+list[i].Name+".", schema, "test"
	}
	return list
}

// offered is what is on offer, and the schemas that judge arguments.
type offered struct {
	tools   []events.Tool
	schemas map[events.Digest]*chat.Schema
}

// offer compiles the schemas once for all chats; nobody changes them.
var offer = sync.OnceValue(func() offered {
	o := offered{schemas: make(map[events.Digest]*chat.Schema)}
	for _, m := range manifests() {
		if err := m.Validate(); err != nil {
			panic(fmt.Sprintf("chatgen: %v", err))
		}
		tool := m.Tool()
		schema, err := chat.CompileSchema(m.Schema)
		if err != nil {
			panic(fmt.Sprintf("chatgen: %v", err))
		}
		o.tools = append(o.tools, tool)
		o.schemas[tool.Manifest] = schema
	}
	slices.SortFunc(o.tools, func(a, b events.Tool) int { return strings.Compare(a.Name, b.Name) })
	return o
})
