package watch

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
)

// commit is one as all watchers of its chat share it.
type commit struct {
	event      Event
	rev        uint64
	prev, hash string

	opens  []opened // attempts that it requests
	closes []opened
	turn   turnChange
	erased bool
}

// opened is an attempt whose answer people read.
type opened struct {
	step events.StepID
	n    int
}

// turnChange says what a commit does to whether a turn is open.
type turnChange int

const (
	turnStays turnChange = iota
	turnOpens
	turnCloses
)

// readCommit reads stored bytes. Of those that a newer release wrote only the place
// in the log is known.
func readCommit(raw json.RawMessage) (*commit, error) {
	c, err := events.Decode(raw)
	if err != nil {
		var head struct {
			Rev  uint64 `json:"rev"`
			Prev string `json:"prev"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Rev == 0 {
			return nil, fmt.Errorf("commit: %w", err)
		}
		return &commit{
			event: Event{Kind: KindCommit, Rev: head.Rev, Data: raw},
			rev:   head.Rev, prev: head.Prev, hash: events.Hash(raw),
		}, nil
	}
	read := &commit{
		event: Event{Kind: KindCommit, Rev: c.Rev, Data: raw, Commit: &c},
		rev:   c.Rev, prev: c.Prev, hash: events.Hash(raw),
	}
	for _, e := range c.Events {
		read.note(e)
	}
	return read, nil
}

// note notes what matters of an event to those who show answers on their way.
func (c *commit) note(e events.Event) {
	switch e := e.(type) {
	case events.StepRequested:
		if e.Purpose == events.PurposeAnswer {
			c.opens = append(c.opens, opened{e.Step, e.Attempt})
		}
	case events.StepCompleted:
		c.closes = append(c.closes, opened{e.Step, e.Attempt})
	case events.StepFailed:
		c.closes = append(c.closes, opened{e.Step, e.Attempt})
	case events.StepInterrupted:
		c.closes = append(c.closes, opened{e.Step, e.Attempt})
	case events.TurnStarted:
		c.turn = turnOpens
	case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
		c.turn = turnCloses
	case events.ChatErased:
		c.erased = true
	case events.ChatCreated, events.ChatInherited, events.ChatSpawned, events.ChatConfigured, events.ChatTitled, events.ChatArchived,
		events.ChatUnarchived, events.ChatEraseRequested, events.ContentDeleted, events.CommandRejected, events.CommandNoted, events.AgentNamed,
		events.InputAccepted, events.InputEdited, events.InputPromoted, events.InputWithdrawn, events.InputSteered, events.BranchSelected,
		events.TurnInterruptRequested, events.ModeSet, events.BudgetReached, events.BudgetExtended,
		events.ToolRequested, events.ToolStarted, events.ToolCompleted, events.ActionRequested, events.ApprovalRequested, events.ApprovalResolved,
		events.QuestionAsked, events.QuestionHeld, events.QuestionAnswered, events.ChildSpawned, events.ChildEnded,
		events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored,
		events.SkillActivated:
	}
}
