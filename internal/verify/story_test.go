package verify_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// story is a chat in which nearly everything happens once:
//
//	turn 1  a step with four calls; a step that is cut off, is lost, and answers
//	turn 2  two inputs that waited; a call is running when the turn is interrupted
//	turn 3  fails for good, with an input waiting that is withdrawn
//	turn 4  tries again and answers
//	turn 5  interrupted while the model speaks
//
// and around them commands that are rejected and noted.
func story(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Limits: &events.Limits{Steps: 5}})

	c.Send("one")
	c.Answer(
		chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid), chatgen.Call(chatgen.ToolRead, ""),
		chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid), chatgen.Call(chatgen.ToolUnoffered, ""),
	)
	for ordinal := 1; ordinal <= 3; ordinal++ {
		call := events.CallID{Turn: 1, Step: 1, Ordinal: ordinal}
		c.Claim(call, 1)
		c.Result(call, events.ToolOK, "done")
	}
	c.Send("two")
	c.Send("three")
	c.Fail(events.ClassIncomplete)
	c.Fire()
	c.Lose()
	c.Answer(events.Text("first answer"))

	c.Answer(chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid))
	c.Claim(events.CallID{Turn: 2, Step: 1, Ordinal: 1}, 1)
	c.Interrupt()
	c.Fire()

	c.Command(protocol.Rename{V: protocol.Version, Title: "a"})
	c.Command(protocol.Rename{V: protocol.Version, Title: "b"})
	c.Command(protocol.Archive{V: protocol.Version})
	c.Command(protocol.Archive{V: protocol.Version})
	c.Command(protocol.Withdraw{V: protocol.Version, Input: "none"})

	c.Send("four")
	waiting := c.Send("five")
	c.Command(protocol.Withdraw{V: protocol.Version, Input: waiting})
	c.Fail(events.ClassAuth)
	c.Command(protocol.Retry{V: protocol.Version})
	c.Answer(events.Text("second answer"))

	c.Send("six")
	step, attempt, _ := c.State.OpenAttempt()
	c.Interrupt()
	c.Handle(chat.AttemptEnded{
		Step: step, Attempt: attempt, Interrupted: true, Partial: []events.Part{events.Text("half an")},
	})
	if turn, running := c.State.Running(); running {
		t.Fatalf("turn %d of the story is still open", turn)
	}
	return c
}

// lostStory is a call whose runner is lost, so that nobody knows what it did.
func lostStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolBoth, chatgen.ArgumentsValid))
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	c.Claim(call, 1)
	c.Wait(events.Dead)
	c.ClaimSilent(call, 2)
	c.Answer(events.Text("nobody knows"))
	if turn, running := c.State.Running(); running {
		t.Fatalf("turn %d of the story is still open", turn)
	}
	return c
}

// lengthStory is a turn whose answers are cut off, with a call and without.
func lengthStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.AnswerWith(model.Answer{
		Stop: events.StopLength, Parts: []events.Part{chatgen.Call(chatgen.ToolPut, chatgen.ArgumentsValid)},
	})
	c.Answer(chatgen.Call(chatgen.ToolPut, chatgen.ArgumentsValid))
	c.Result(events.CallID{Turn: 1, Step: 2, Ordinal: 1}, events.ToolOK, "done")
	c.AnswerWith(model.Answer{Stop: events.StopLength, Parts: []events.Part{events.Text("cut o")}})
	if turn, running := c.State.Running(); running {
		t.Fatalf("turn %d of the story is still open", turn)
	}
	return c
}

// stories are all of them.
func stories() map[string]func(*testing.T) *chatgen.Chat {
	return map[string]func(*testing.T) *chatgen.Chat{
		"everything": story, "lost": lostStory, "length": lengthStory, "waves": wavesStory, "alone": aloneStory, "again": againStory,
		"interrupt": interruptStory, "stalled": stalledStory, "deadline": deadlineStory, "broken": brokenStory, "other": otherStory, "hopeless": hopelessStory,
		"approvals": approvalStory, "branch": branchStory, "stop": stopStory, "join": joinStory, "question": questionStory, "action": actionStory, "busy": busyStory, "fork": forkStory, "fork of calls": forkOfCallsStory,
		"erased": erasedStory, "agent": agentStory, "budget": budgetStory, "grants": grantsStory, "granted": grantedStory,
		"parent": parentStory, "child": childStory, "recalled": recalledStory, "stillborn": stillbornStory,
		"context": contextStory, "masking": maskingStory, "masked fork": maskedForkStory, "plan": planStory, "review": reviewStory, "ended review": endedReviewStory,
		"title": titleStory, "no title": untitledStory, "title of another": awayTitleStory, "artifact": artifactStory, "skill": skillStory, "title given up": stoppedTitleStory,
	}
}

// begun is a chat whose first turn has been asked for.
func begun() *chatgen.Chat {
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	return c
}

func call(ordinal int) events.CallID { return events.CallID{Turn: 1, Step: 1, Ordinal: ordinal} }

func rename(title string) protocol.Rename { return protocol.Rename{V: protocol.Version, Title: title} }

// over fails unless every turn of the chat has ended.
func over(t *testing.T, c *chatgen.Chat) *chatgen.Chat {
	t.Helper()
	if turn, running := c.State.Running(); running {
		t.Fatalf("turn %d of the story is still open", turn)
	}
	return c
}

// wavesStory is a step whose calls run two together, one alone, one alone, and
// one again.
func wavesStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(
		chatgen.Call(chatgen.ToolRead, ""), chatgen.Call(chatgen.ToolRead, ""), chatgen.Call(chatgen.ToolPut, ""),
		chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolRead, ""),
	)
	for _, ordinal := range []int{2, 1, 3, 4, 5} {
		c.Claim(call(ordinal), 1)
		c.Result(call(ordinal), events.ToolOK, "done")
	}
	c.Answer(events.Text("done"))
	return over(t, c)
}

// aloneStory is a step with a call that must be alone, and is not.
func aloneStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(chatgen.Call(chatgen.ToolSolo, ""), chatgen.Call(chatgen.ToolAppend, ""))
	c.Answer(events.Text("so be it"))
	return over(t, c)
}

// againStory is a call that may run again, and does.
func againStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(chatgen.Call(chatgen.ToolPut, ""))
	for delivery := range uint64(3) {
		c.Claim(call(1), delivery+1)
	}
	c.Result(call(1), events.ToolOK, "done")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// interruptStory is a turn that is interrupted while one call runs and another
// has not been handed out.
func interruptStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolAppend, ""))
	c.Interrupt()
	c.Fire()
	return over(t, c)
}

// stalledStory is a chat that fails with an input waiting, and is asked again.
func stalledStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Send("two")
	c.Fail(events.ClassAuth)
	c.Send("three")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// deadlineStory is a call of a tool that only reads, and that nobody runs.
func deadlineStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(chatgen.Call(chatgen.ToolCount, ""))
	c.Fire()
	c.Answer(events.Text("nobody was there"))
	return over(t, c)
}

// brokenStory is a step whose stream breaks off again and again.
func brokenStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	for range events.MaxQuickRetries + 2 {
		c.Fail(events.ClassIncomplete)
		c.Fire()
	}
	c.Answer(events.Text("at last"))
	return over(t, c)
}

// otherStory is a step in which another model answers than the one that was
// asked, and what it thought stays with its answer.
func otherStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.AnswerWith(model.Answer{Stop: events.StopCalls, Parts: []events.Part{
		{Type: events.PartReasoning, Text: "hm", Opaque: []byte{1}, Provider: "scripted", Model: "large"},
		chatgen.Call(chatgen.ToolCount, ""),
	}})
	c.Result(call(1), events.ToolOK, "done")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// hopelessStory is a step that fails as often as it may be tried.
func hopelessStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	for range events.MaxAttemptsPerStep {
		c.Fail(events.ClassOverloaded)
		c.Fire()
	}
	return over(t, c)
}
