package chatgen

import (
	"encoding/json"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// wildOnce is how often [Driver.Any] gives what [Driver.Next] would not: once in so
// many messages.
const wildOnce = 6

// crowdedOnce is how often somebody says something while a turn runs, or does
// something to what waits.
const crowdedOnce = 8

// Any is a message that may come now, or one that nobody asked for and that fits
// nowhere: any command about anything, what became of work that was never handed
// out, and timers that are early, late, or of things long gone.
func (d *Driver) Any() chat.Message {
	if _, running := d.State.Running(); running && d.yes(crowdedOnce) {
		return d.crowd()
	}
	if !d.yes(wildOnce) {
		return d.Next()
	}
	d.Wait(time.Duration(d.chance.IntN(100_000)-1_000) * time.Millisecond)
	d.disturb()
	switch d.chance.IntN(8) {
	case 7:
		return d.wildWord()
	case 0:
		return d.wildTimer()
	case 1:
		return d.wildAttempt()
	case 2:
		return d.wildRun()
	case 3:
		return d.repeated()
	}
	if b := d.wildBody(); b != nil {
		return d.command(b)
	}
	return d.Next()
}

// repeated is a command that its sender stored once more, with the same id or, if it
// is careless, with that id and something else to say.
func (d *Driver) repeated() chat.Message {
	c, ok := d.again().(chat.Command)
	if !ok {
		return d.Next()
	}
	d.sequence++
	c.Sequence = d.sequence
	if b := d.wildBody(); b != nil && d.yes(4) {
		c.Body, c.Undeliverable = b, false
	}
	return c
}

// crowd lets inputs wait, and then change.
func (d *Driver) crowd() chat.Message {
	if len(d.State.Waiting()) == 0 || d.yes(3) {
		return d.send()
	}
	verbs := []protocol.Verb{protocol.VerbWithdraw, protocol.VerbPromote, protocol.VerbEditInput, protocol.VerbEdit, protocol.VerbInterrupt}
	return d.command(wild()[verbs[d.chance.IntN(len(verbs))]](d))
}

// wild makes any body of each verb. A verb that is missing here makes this package's
// test fail.
func wild() map[protocol.Verb]func(*Driver) protocol.Body {
	const v = protocol.Version
	return map[protocol.Verb]func(*Driver) protocol.Body{
		protocol.VerbCreate: func(d *Driver) protocol.Body {
			return protocol.Create{V: v, Settings: d.wildSettings(), Title: d.text()}
		},
		protocol.VerbSend: func(d *Driver) protocol.Body {
			return protocol.Send{V: v, Parts: d.wildParts(), Mode: d.wildMode(), Settings: new(d.wildSettings())}
		},
		protocol.VerbInterrupt: func(d *Driver) protocol.Body {
			return protocol.Interrupt{V: v, Turn: d.wildTurn(), Reason: d.text()}
		},
		protocol.VerbConfigure: func(d *Driver) protocol.Body {
			return protocol.Configure{V: v, Settings: d.wildSettings()}
		},
		protocol.VerbRename:    func(d *Driver) protocol.Body { return protocol.Rename{V: v, Title: d.text()} },
		protocol.VerbArchive:   func(*Driver) protocol.Body { return protocol.Archive{V: v} },
		protocol.VerbUnarchive: func(*Driver) protocol.Body { return protocol.Unarchive{V: v} },
		protocol.VerbWithdraw:  func(d *Driver) protocol.Body { return protocol.Withdraw{V: v, Input: d.wildInput()} },
		protocol.VerbPromote: func(d *Driver) protocol.Body {
			return protocol.Promote{V: v, Input: d.wildInput(), Interrupt: d.yes(2)}
		},
		protocol.VerbEditInput: func(d *Driver) protocol.Body {
			return protocol.EditInput{V: v, Input: d.wildInput(), Parts: d.wildParts()}
		},
		protocol.VerbRetry:    func(d *Driver) protocol.Body { return protocol.Retry{V: v, Turn: d.wildTurn()} },
		protocol.VerbContinue: func(d *Driver) protocol.Body { return protocol.Continue{V: v, Turn: d.wildTurn()} },
		protocol.VerbEdit: func(d *Driver) protocol.Body {
			b := protocol.Edit{V: v, Parts: d.wildParts(), Settings: new(d.wildSettings())}
			if !d.yes(3) {
				b.Turn = d.wildTurn()
			}
			if d.yes(3) {
				b.Input = d.wildInput()
			}
			return b
		},
		protocol.VerbRegenerate: func(d *Driver) protocol.Body {
			return protocol.Regenerate{V: v, Turn: d.wildTurn()}
		},
		protocol.VerbSelectBranch: func(d *Driver) protocol.Body { return protocol.SelectBranch{V: v, Turn: d.wildTurn()} },
		protocol.VerbCompact:      func(*Driver) protocol.Body { return protocol.Compact{V: v} },
		protocol.VerbClear:        func(*Driver) protocol.Body { return protocol.Clear{V: v} },
		protocol.VerbRestore:      func(*Driver) protocol.Body { return protocol.Restore{V: v} },
		protocol.VerbFork: func(d *Driver) protocol.Body {
			return d.ifExists(protocol.Fork{V: v, Chat: "another", Rev: uint64(d.chance.IntN(9))})
		},
		protocol.VerbImport: func(d *Driver) protocol.Body {
			return d.ifExists(protocol.Import{V: v, History: events.DigestOf([]byte("none"))})
		},
		protocol.VerbApprove: func(d *Driver) protocol.Body {
			b := protocol.Approve{V: v, Call: d.wildCall(), Reason: d.text(), Stop: d.yes(2)}
			b.Decision = []protocol.ApproveDecision{
				protocol.DecideApprove, protocol.DecideApproveForChat, protocol.DecideDeny, "perhaps", "",
			}[d.chance.IntN(5)]
			if d.yes(2) {
				b.Args = json.RawMessage([]string{ArgumentsValid, ArgumentsWrong, "[]", "null", d.long()}[d.chance.IntN(5)])
			}
			return b
		},
		protocol.VerbSetMode: func(d *Driver) protocol.Body {
			return protocol.SetMode{V: v, Approval: d.mode(), Plan: new(d.yes(2))}
		},
		protocol.VerbExtend: func(d *Driver) protocol.Body {
			return protocol.Extend{V: v, Turn: d.wildTurn(), Chat: d.yes(3), Add: d.wildBudget()}
		},
		protocol.VerbAnswer: func(d *Driver) protocol.Body {
			return protocol.Answer{V: v, Call: d.wildCall(), Answers: AnswersOf(d.text(), "huge"), Hold: new(d.yes(2))}
		},
		protocol.VerbErase: func(d *Driver) protocol.Body {
			const seldom = 6 // most chats go on
			if !d.yes(seldom) {
				return nil
			}
			return protocol.Erase{V: v}
		},
		protocol.VerbClientResult: func(d *Driver) protocol.Body {
			return protocol.ClientResult{V: v, Call: d.wildCall(), Parts: d.wildParts(), IsError: d.yes(2)}
		},
	}
}

// ifExists keeps what needs a history away from chats that do not exist: no chat
// is asked to begin with one that nobody could read.
func (d *Driver) ifExists(b protocol.Body) protocol.Body {
	if !d.State.Exists() {
		return nil
	}
	return b
}

func (d *Driver) wildBody() protocol.Body {
	verbs := protocol.Verbs()
	return wild()[verbs[d.chance.IntN(len(verbs))]](d)
}

// disturb changes the installation around the chat: what it offers and whom it knows.
func (d *Driver) disturb() {
	const seldom = 8
	if !d.yes(seldom) {
		return
	}
	switch d.chance.IntN(6) {
	case 4:
		_, d.Live.Skills = Skills()
	case 5:
		d.Live.Skills = nil
	case 0:
		d.Live.Tools = offer().tools[d.chance.IntN(len(offer().tools)):]
	case 1:
		d.Live.Tools = offer().tools
	case 2:
		d.Live.Agents = nil
	case 3:
		d.Live.Agents = agents()
	}
}

// AgentHelper names the settings that most installations have.
const AgentHelper = "helper"

func agents() map[string]events.Settings {
	return map[string]events.Settings{AgentHelper: {Model: "large", System: "Help.", Tools: &[]string{ToolRead, ToolAsk}}}
}

func (d *Driver) wildSettings() events.Settings {
	s := d.settings()
	if d.yes(6) {
		s.ChatBudget = new(d.wildBudget())
	}
	if d.yes(3) {
		s.Agent = []string{AgentHelper, "nobody"}[d.chance.IntN(2)]
	}
	if d.yes(12) {
		s.Model = "no such model"
	}
	if d.yes(12) {
		s.Limits = &events.Limits{Steps: -1}
	}
	return s
}

func (d *Driver) wildMode() events.SendMode {
	return []events.SendMode{
		"", events.ModeQueue, events.ModeReject, events.ModeSteer, events.ModeInterrupt, events.ModeRollback, "sometime",
	}[d.chance.IntN(7)]
}

// wildParts are parts that may be said, and parts that may not.
func (d *Driver) wildParts() []events.Part {
	switch d.chance.IntN(6) {
	case 0:
		return nil
	case 1:
		return d.parts() // what only models say
	case 2:
		return []events.Part{{Type: "no such part", Text: "x"}, {Type: events.PartImage}}
	case 3:
		return []events.Part{d.attachment(), {Type: events.PartData, JSON: `{"n":1}`}}
	}
	return []events.Part{events.Text(d.text()), events.Text("and more")}
}

func (d *Driver) wildInput() string {
	waiting := d.State.Waiting()
	switch n := d.chance.IntN(6); {
	case n == 0:
		return d.ID() // of nothing
	case n < 4 && len(waiting) > 0:
		return waiting[d.chance.IntN(len(waiting))]
	}
	return d.input()
}

// wildTurn is a turn that there was, is, may be, or cannot be.
func (d *Driver) wildTurn() int {
	if d.yes(6) {
		return -1
	}
	return d.anyTurn()
}

func (d *Driver) wildStep() events.StepID {
	return events.StepID{Turn: max(0, d.anyTurn()), Step: 1 + d.chance.IntN(4)}
}

// wildCall is mostly one of the calls that a chat of a few turns may have.
func (d *Driver) wildCall() events.CallID {
	if waiting := d.State.AwaitingApproval(); len(waiting) > 0 && d.yes(3) {
		return waiting[d.chance.IntN(len(waiting))]
	}
	if call, ok := d.asking(); ok && d.yes(2) {
		return call
	}
	step := d.wildStep()
	return events.CallID{Turn: step.Turn, Step: step.Step, Ordinal: d.chance.IntN(4)}
}

// wildTimer is a timer that is owed and comes before its time, or one of any name.
func (d *Driver) wildTimer() chat.Message {
	for _, w := range chat.Owed(d.State) {
		if t, ok := w.(protocol.Timer); ok && d.yes(2) {
			if name, err := protocol.ParseTimerName(t.Name); err == nil {
				if d.yes(4) {
					name.Attempt = max(0, name.Attempt-1) // the one before it, which was delivered again
				}
				return chat.TimerDue{Name: name, Partial: d.wildPartial()}
			}
		}
	}
	kinds := []protocol.TimerKind{
		protocol.TimerRetry, protocol.TimerDeadline, protocol.TimerEnd, protocol.TimerQuestion, protocol.TimerApproval,
		protocol.TimerErase, protocol.TimerDelete, protocol.TimerAction, protocol.TimerReview, protocol.TimerBudget,
	}
	call := d.wildCall()
	return chat.TimerDue{Partial: d.wildPartial(), Name: protocol.TimerName{
		Kind: kinds[d.chance.IntN(len(kinds))], Step: call.StepID(), Attempt: d.chance.IntN(4), Call: call, Turn: call.Turn, Number: d.chance.IntN(3),
	}}
}

func (d *Driver) wildPartial() []events.Part {
	if d.yes(2) {
		return nil
	}
	return d.parts()
}

// wildAttempt is what became of an attempt that may be long over, not begun, or of
// no step at all.
func (d *Driver) wildAttempt() chat.Message {
	step, attempt, open := d.State.OpenAttempt()
	if !open || d.yes(2) {
		step, attempt = d.wildStep(), d.chance.IntN(4)
	}
	if d.yes(4) {
		return chat.AttemptLost{Step: step, Attempt: attempt, Partial: d.wildPartial()}
	}
	m := chat.AttemptEnded{Step: step, Attempt: attempt, Schemas: d.schemas}
	switch d.chance.IntN(3) {
	case 0:
		m.Interrupted, m.Partial = true, d.wildPartial() // though nobody interrupted it, perhaps
	case 1:
		m.Err = d.failure()
	case 2:
		m.Answer = &model.Answer{Parts: d.wildPartial(), Stop: d.stop()}
	}
	return m
}

// wildRun is what a runner may report of a call that it was never given.
func (d *Driver) wildRun() chat.Message {
	call := d.wildCall()
	group := []string{"", "test", "another"}[d.chance.IntN(3)]
	if d.yes(2) {
		m := d.claim(call, uint64(d.chance.IntN(4)))
		m.Rev, m.Group, m.Holder = uint64(d.chance.IntN(40)), group, chat.Holder(d.chance.IntN(3))
		return m
	}
	if d.yes(4) {
		m := d.ask(call).(chat.Ask)
		m.Group = group
		return m
	}
	statuses := []events.ToolStatus{
		events.ToolOK, events.ToolError, events.ToolDenied, events.ToolCancelled, events.ToolTimeout,
		events.ToolUnknown, events.ToolInvalid, events.ToolNotFound,
	}
	m := result(call, statuses[d.chance.IntN(len(statuses))], d.text())
	m.Group, m.IsError = group, d.yes(2)
	if d.yes(3) {
		m.Parts = []events.Part{{Type: events.PartData, JSON: `{"n":1}`}}
	}
	return m
}

// Installation makes everything around the chat as it usually is.
func (c *Chat) Installation() { c.Live.Tools, c.Live.Agents = offer().tools, agents() }
