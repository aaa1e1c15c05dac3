package events

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kind is one row of the table from wire names to Go types.
type kind struct {
	name   Type
	zero   Event
	decode func(*jsontext.Decoder) (Event, error)
}

// as decodes into T. A version that is no longer written gets a row whose
// decode reads the old struct and returns today's: that is the whole of upcasting.
func as[T Event]() kind {
	var zero T
	return kind{name: zero.EventType(), zero: zero, decode: func(d *jsontext.Decoder) (Event, error) {
		var e T
		if err := jsonv2.UnmarshalDecode(d, &e); err != nil {
			return nil, err
		}
		return e, nil
	}}
}

// kinds is the one table of everything that can stand in a log.
var kinds = []kind{
	as[ChatCreated](), as[ChatInherited](), as[ChatConfigured](), as[ChatTitled](), as[ChatArchived](), as[ChatUnarchived](),
	as[ChatEraseRequested](), as[ChatErased](), as[ContentDeleted](),
	as[CommandRejected](), as[CommandNoted](),
	as[InputAccepted](), as[InputEdited](), as[InputPromoted](), as[InputSteered](), as[InputWithdrawn](),
	as[BranchSelected](),
	as[TurnStarted](), as[TurnInterruptRequested](), as[TurnCompleted](), as[TurnFailed](), as[TurnInterrupted](),
	as[StepRequested](), as[StepCompleted](), as[StepFailed](), as[StepInterrupted](),
	as[ContextCompacted](), as[ContextCompactionFailed](), as[ContextCleared](), as[ContextRestored](),
	as[ToolRequested](), as[ToolStarted](), as[ToolCompleted](),
	as[QuestionAsked](), as[QuestionHeld](), as[QuestionAnswered](),
	as[ApprovalRequested](), as[ApprovalResolved](), as[ModeSet](),
	as[ActionRequested](), as[AgentNamed](), as[SkillActivated](),
	as[BudgetReached](), as[BudgetExtended](),
	as[ChatSpawned](), as[ChildSpawned](), as[ChildEnded](),
}

var kindOf = func() map[Type]kind {
	m := make(map[Type]kind, len(kinds))
	for _, k := range kinds {
		m[k.name] = k
	}
	return m
}()

// Types lists every wire name this release reads, sorted, each with a zero value
// of its Go type.
func Types() map[Type]Event {
	m := make(map[Type]Event, len(kinds))
	for _, k := range kinds {
		m[k.name] = k.zero
	}
	return m
}

// TypeNames lists every wire name this release reads, sorted.
func TypeNames() []Type {
	names := make([]Type, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return names
}

// VersionError means that the bytes are newer than this release: an event type,
// or a version of one, or of the commit, that it does not know. The chat is left
// to a replica that does. Match it with [errors.As].
type VersionError struct {
	What string // "commit" or "event"
	Name string // the version or wire name
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s %q is not known to this release; a newer one wrote it", e.What, e.Name)
}

// EncodeEvent is the JSON of an event's data, without its type.
func EncodeEvent(e Event) (json.RawMessage, error) { return marshal(e) }

// DecodeEvent is the event stored under name with the given data. Fields this
// release does not know are ignored. The error is a [*VersionError] if the name
// is unknown.
func DecodeEvent(name Type, data json.RawMessage) (Event, error) {
	e := eventData{Type: name}
	if err := unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	if e.Data == nil {
		return nil, unknown(name)
	}
	return e.Data, nil
}

// unknown is the error for an event of that name.
func unknown(name Type) *VersionError {
	return &VersionError{What: "event", Name: cut(string(name), maxIDBytes)}
}
