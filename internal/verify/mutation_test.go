package verify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

type mutation struct {
	rule   verify.Rule
	name   string
	story  func(*testing.T) *chatgen.Chat // story if nil
	mutate func(log) log
}

// Each rule has five logs that break it: something is dropped, repeated,
// swapped, changed, or moved past a border. The chain of hashes is good in each.
func TestMutatedLogsAreReported(t *testing.T) {
	t.Parallel()

	for _, tt := range slices.Concat(chainMutations(), turnMutations(), stepMutations(), callMutations(), licenceMutations(), restMutations()) {
		t.Run(string(tt.rule)+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			tell := tt.story
			if tell == nil {
				tell = story
			}
			found := check(tt.mutate(logOf(tell(t))).chain(t), verify.Options{Idle: true})
			if !slices.ContainsFunc(found, func(v verify.Violation) bool { return v.Rule == tt.rule }) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}

func TestTheStoriesAreLegal(t *testing.T) {
	t.Parallel()
	for _, c := range []*chatgen.Chat{story(t), lengthStory(t), lostStory(t)} {
		for _, v := range check(logOf(c).chain(t), verify.Options{Idle: true}) {
			t.Error(v)
		}
	}
}

// chainMutations are those of I1 and I2 that leave the chain good.
func chainMutations() []mutation {
	return []mutation{
		{verify.RuleChain, "dropped: the chat's creation", nil, func(l log) log { return l[1:] }},
		{verify.RuleChain, "repeated: the chat's creation", nil, func(l log) log { return l.repeat(spot{0, 0}) }},
		{verify.RuleChain, "swapped: the creation and the first command", nil, func(l log) log {
			l[0], l[1] = l[1], l[0]
			return l
		}},
		{verify.RuleChain, "changed: a commit's time to before the last", nil, func(l log) log {
			l[3].At = l[0].At.Add(-time.Hour)
			return l
		}},
		{verify.RuleChain, "moved: the creation into a later commit", nil, func(l log) log { return l.move(spot{0, 0}, spot{1, 0}) }},

		{verify.RuleCommands, "repeated: a command's commit", nil, func(l log) log { return l.repeatCommit(nth[events.ChatTitled](l, 1).commit) }},
		{verify.RuleCommands, "swapped: two commands of a client", nil, func(l log) log {
			a, b := nth[events.ChatTitled](l, 1).commit, nth[events.ChatTitled](l, 2).commit
			l[a], l[b] = l[b], l[a]
			return l
		}},
		{verify.RuleCommands, "changed: the id of a commit", nil, func(l log) log {
			l[5].ID = l[2].ID
			return l
		}},
		{verify.RuleCommands, "changed: the verb that was noted", nil, func(l log) log {
			return change(l, 1, func(e *events.CommandNoted) { e.Verb = string(protocol.VerbRename) })
		}},
		{verify.RuleCommands, "moved: a rejection beside an effect", nil, func(l log) log {
			return l.move(nth[events.CommandRejected](l, 1), nth[events.ChatTitled](l, 1))
		}},
		{verify.RuleCommands, "moved: a rejection into a commit without a command", nil, func(l log) log {
			return l.move(nth[events.CommandRejected](l, 1), nth[events.StepFailed](l, 1))
		}},

		{verify.RuleInputs, "dropped: the acceptance of an input", nil, func(l log) log { return l.drop(nth[events.InputAccepted](l, 2)) }},
		{verify.RuleInputs, "dropped: the withdrawal of an input", nil, func(l log) log {
			l = l.drop(nth[events.InputWithdrawn](l, 1))
			return change(l, 3, func(e *events.TurnStarted) { e.Inputs = nil })
		}},
		{verify.RuleInputs, "repeated: the acceptance of an input", nil, func(l log) log { return l.repeat(nth[events.InputAccepted](l, 2)) }},
		{verify.RuleInputs, "swapped: two inputs of a turn", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Inputs = []string{e.Inputs[1], e.Inputs[0]} })
		}},
		{verify.RuleInputs, "changed: which input a turn took", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Inputs = e.Inputs[:1] })
		}},
		{verify.RuleInputs, "moved: the withdrawal to before the acceptance", nil, func(l log) log {
			return l.move(nth[events.InputWithdrawn](l, 1), nth[events.TurnStarted](l, 3))
		}},
	}
}

func turnMutations() []mutation {
	return []mutation{
		{verify.RuleTurns, "dropped: a turn's end", nil, func(l log) log { return l.drop(nth[events.TurnCompleted](l, 1)) }},
		{verify.RuleTurns, "dropped: the last turn's end", nil, func(l log) log { return l.drop(nth[events.TurnInterrupted](l, 2)) }},
		{verify.RuleTurns, "repeated: a turn's end", nil, func(l log) log { return l.repeat(nth[events.TurnFailed](l, 1)) }},
		{verify.RuleTurns, "swapped: a turn's end and the next one's start", nil, func(l log) log {
			return l.swap(nth[events.TurnCompleted](l, 1), nth[events.TurnStarted](l, 2))
		}},
		{verify.RuleTurns, "changed: a turn's number", nil, func(l log) log {
			return change(l, 3, func(e *events.TurnStarted) { e.Turn = 7 })
		}},
		{verify.RuleTurns, "changed: a turn's parent to one that is not there", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Parent = 4 })
		}},
		{verify.RuleTurns, "moved: a turn's end past the next one's start", nil, func(l log) log {
			return l.move(nth[events.TurnFailed](l, 1), nth[events.TurnStarted](l, 4))
		}},

		{verify.RuleBelonging, "dropped: a turn's start", nil, func(l log) log { return l.drop(nth[events.TurnStarted](l, 4)) }},
		{verify.RuleBelonging, "repeated: a result after its turn's end", nil, func(l log) log {
			return l.insert(nth[events.TurnCompleted](l, 1), l.at(nth[events.ToolCompleted](l, 4)))
		}},
		{verify.RuleBelonging, "swapped: an answer and its turn's end", nil, func(l log) log {
			return l.swap(nth[events.StepCompleted](l, 2), nth[events.TurnCompleted](l, 1))
		}},
		{verify.RuleBelonging, "changed: the turn of a step", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Step.Turn = 2 })
		}},
		{verify.RuleBelonging, "moved: a step's request to before its turn", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 1), nth[events.InputAccepted](l, 1))
		}},

		{verify.RuleInterrupts, "dropped: the request to interrupt", nil, func(l log) log {
			return l.drop(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "repeated: the request to interrupt", nil, func(l log) log {
			return l.repeat(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "swapped: the request and the end of the interrupted step", nil, func(l log) log {
			return l.swap(nth[events.TurnInterruptRequested](l, 2), nth[events.StepInterrupted](l, 1))
		}},
		{verify.RuleInterrupts, "changed: a result to cancelled, and nobody interrupts", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
		{verify.RuleInterrupts, "moved: a call's start past the request", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 4), nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "moved: a step's request past the request to interrupt", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 8), nth[events.TurnInterruptRequested](l, 2))
		}},

		{verify.RuleOutcomes, "dropped: the inputs of a turn", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) { e.Inputs = nil })
		}},
		{verify.RuleOutcomes, "repeated: the last step after the final answer", nil, func(l log) log {
			last := l.at(nth[events.StepRequested](l, 4)).(events.StepRequested)
			last.Step.Step, last.Attempt = 3, 1
			return l.insert(nth[events.StepCompleted](l, 2), last)
		}},
		{verify.RuleOutcomes, "swapped: the ends of a completed and a failed turn", nil, func(l log) log {
			l = change(l, 2, func(e *events.TurnCompleted) { e.Turn = 3 })
			l = change(l, 1, func(e *events.TurnFailed) { e.Turn = 4 })
			return l.swap(nth[events.TurnCompleted](l, 2), nth[events.TurnFailed](l, 1))
		}},
		{verify.RuleOutcomes, "changed: the finish of a turn with a final answer", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Finish = events.FinishMaxSteps })
		}},
		{verify.RuleOutcomes, "changed: the finish of a turn without a final answer", lengthStory, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Finish = events.FinishComplete })
		}},
		{verify.RuleOutcomes, "changed: the steps that a turn took", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Totals.Steps++ })
		}},
		{verify.RuleOutcomes, "moved: the end of a turn to before its answer", nil, func(l log) log {
			return l.move(nth[events.TurnCompleted](l, 2), nth[events.StepRequested](l, 7))
		}},
	}
}

func stepMutations() []mutation {
	return []mutation{
		{verify.RuleAttempts, "dropped: the failure before a retry", nil, func(l log) log { return l.drop(nth[events.StepFailed](l, 1)) }},
		{verify.RuleAttempts, "repeated: an answer", nil, func(l log) log { return l.repeat(nth[events.StepCompleted](l, 1)) }},
		{verify.RuleAttempts, "swapped: a crash and the attempt after it", nil, func(l log) log {
			return l.swap(nth[events.StepFailed](l, 2), nth[events.StepRequested](l, 4))
		}},
		{verify.RuleAttempts, "changed: the attempt that an answer closes", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Attempt = 1 })
		}},
		{verify.RuleAttempts, "changed: the number of an attempt", nil, func(l log) log {
			return change(l, 3, func(e *events.StepRequested) { e.Attempt = 3 })
		}},
		{verify.RuleAttempts, "changed: a failure that is retried to one that cannot be", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.Class = events.ClassQuota })
		}},
		{verify.RuleAttempts, "changed: the timer that began a retry", nil, func(l log) log {
			l[nth[events.StepRequested](l, 3).commit].Cause.ID = "retry-1-2-2"
			return l
		}},
		{verify.RuleAttempts, "moved: an answer past its turn's end", nil, func(l log) log {
			return l.move(nth[events.StepCompleted](l, 2), nth[events.TurnCompleted](l, 1))
		}},

		{verify.RuleSteps, "dropped: the first step", nil, func(l log) log { return l.drop(nth[events.StepRequested](l, 1)) }},
		{verify.RuleSteps, "dropped: a result before the next step", nil, func(l log) log { return l.drop(nth[events.ToolCompleted](l, 4)) }},
		{verify.RuleSteps, "repeated: a step's request as the next step", nil, func(l log) log {
			again := l.at(nth[events.StepRequested](l, 2)).(events.StepRequested)
			again.Step.Step++
			return l.insert(nth[events.StepRequested](l, 2), again)
		}},
		{verify.RuleSteps, "swapped: a result and the next step's request", nil, func(l log) log {
			return l.swap(nth[events.ToolCompleted](l, 4), nth[events.StepRequested](l, 2))
		}},
		{verify.RuleSteps, "changed: the number of a step", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Step.Step = 3 })
		}},
		{verify.RuleSteps, "moved: a step's request to before the last answer", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 2), nth[events.StepRequested](l, 1))
		}},

		{verify.RulePrompts, "dropped: a part of what the user said", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = nil })
		}},
		{verify.RulePrompts, "repeated: a part of an answer", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Parts = append(e.Parts, e.Parts[0]) })
		}},
		{verify.RulePrompts, "swapped: what two users said", nil, func(l log) log {
			a, b := l.at(nth[events.InputAccepted](l, 2)).(events.InputAccepted), l.at(nth[events.InputAccepted](l, 3)).(events.InputAccepted)
			l = change(l, 2, func(e *events.InputAccepted) { e.Parts = b.Parts })
			return change(l, 3, func(e *events.InputAccepted) { e.Parts = a.Parts })
		}},
		{verify.RulePrompts, "changed: the digest of a prompt", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Prompt = events.DigestOf(nil) })
		}},
		{verify.RulePrompts, "changed: the size of a prompt", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Bytes++ })
		}},
		{verify.RulePrompts, "changed: what a tool said, to what no model takes", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text("\x1b[31m")} })
		}},
		{verify.RulePrompts, "moved: what one call came to, to another", nil, func(l log) log {
			l = change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text("moved")} })
			return change(l, 3, func(e *events.ToolCompleted) { e.Parts = nil })
		}},
	}
}

func callMutations() []mutation {
	return []mutation{
		{verify.RuleCalls, "dropped: a call in the middle of an answer", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Parts = slices.Delete(slices.Clone(e.Parts), 1, 2) })
		}},
		{verify.RuleCalls, "repeated: a call that was handed out", nil, func(l log) log { return l.repeat(nth[events.ToolRequested](l, 1)) }},
		{verify.RuleCalls, "swapped: the keys of two calls", nil, func(l log) log {
			a, b := l.at(nth[events.ToolRequested](l, 1)).(events.ToolRequested), l.at(nth[events.ToolRequested](l, 2)).(events.ToolRequested)
			l = change(l, 1, func(e *events.ToolRequested) { e.Key = b.Key })
			return change(l, 2, func(e *events.ToolRequested) { e.Key = a.Key })
		}},
		{verify.RuleCalls, "changed: the arguments of a call that is handed out", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Arguments = events.DigestOf([]byte(`{"n":2}`)) })
		}},
		{verify.RuleCalls, "changed: the tool of a call that is handed out", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Tool = chatgen.ToolPut })
		}},
		{verify.RuleCalls, "changed: a call's ordinal", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[1].Ordinal = 1
			})
		}},
		{verify.RuleCalls, "moved: a call out of its answer", nil, func(l log) log {
			return l.move(nth[events.ToolRequested](l, 1), nth[events.StepRequested](l, 1))
		}},

		{verify.RuleResults, "dropped: a result", nil, func(l log) log { return l.drop(nth[events.ToolCompleted](l, 5)) }},
		{verify.RuleResults, "repeated: a result", nil, func(l log) log { return l.repeat(nth[events.ToolCompleted](l, 2)) }},
		{verify.RuleResults, "swapped: a result and its turn's end", nil, func(l log) log {
			return l.swap(nth[events.ToolCompleted](l, 5), nth[events.TurnInterrupted](l, 1))
		}},
		{verify.RuleResults, "changed: the call that a result answers", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Call.Ordinal = 9 })
		}},
		{verify.RuleResults, "moved: a result to before its call", nil, func(l log) log {
			return l.move(nth[events.ToolCompleted](l, 1), nth[events.StepRequested](l, 1))
		}},
	}
}

func licenceMutations() []mutation {
	tool := func(l log, name string, with func(*events.Tool)) log {
		return change(l, 1, func(e *events.TurnStarted) {
			body := *e.Settings.Body
			body.Tools = slices.Clone(body.Tools)
			i := slices.IndexFunc(body.Tools, func(t events.Tool) bool { return t.Name == name })
			with(&body.Tools[i])
			e.Settings.Body = &body
		})
	}
	return []mutation{
		{verify.RuleLicence, "dropped: the start of a call", nil, func(l log) log { return l.drop(nth[events.ToolStarted](l, 3)) }},
		{verify.RuleLicence, "dropped: the handing out of a call", lengthStory, func(l log) log { return l.drop(nth[events.ToolRequested](l, 1)) }},
		{verify.RuleLicence, "repeated: a start after the result", nil, func(l log) log {
			return l.insert(nth[events.ToolCompleted](l, 2), l.at(nth[events.ToolStarted](l, 1)))
		}},
		{verify.RuleLicence, "swapped: the handing out of a call and its start", nil, func(l log) log {
			return l.swap(nth[events.ToolRequested](l, 3), nth[events.ToolStarted](l, 3))
		}},
		{verify.RuleLicence, "changed: the claim that a call started under", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.Claim = "another" })
		}},
		{verify.RuleLicence, "changed: the answer with the call was cut off", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Stop = events.StopLength })
		}},
		{verify.RuleLicence, "changed: the arguments are no object", nil, func(l log) log {
			l = change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Arguments = chatgen.ArgumentsCut
			})
			return change(l, 1, func(e *events.ToolRequested) { e.Arguments = events.DigestOf([]byte(chatgen.ArgumentsCut)) })
		}},
		{verify.RuleLicence, "changed: the tool needs a person", nil, func(l log) log {
			return tool(l, chatgen.ToolAppend, func(t *events.Tool) { t.Policy = events.PolicyAsk })
		}},
		{verify.RuleLicence, "changed: the tool is called idempotent", nil, func(l log) log {
			return change(l, 3, func(e *events.ToolRequested) { e.Idempotent = true })
		}},
		{verify.RuleLicence, "changed: a call that was running is called cancelled", nil, func(l log) log {
			return change(l, 5, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
		{verify.RuleLicence, "changed: a call that never began is called unknown", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolUnknown })
		}},
		{verify.RuleLicence, "changed: the claim that gave a call up is its own", lostStory, func(l log) log {
			start := l.at(nth[events.ToolStarted](l, 1)).(events.ToolStarted)
			l[nth[events.ToolCompleted](l, 1).commit].Cause.ID = start.Claim
			return l
		}},
		{verify.RuleLicence, "changed: a call is given up while it may still begin", lostStory, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.At = e.At.Add(events.Skew) })
		}},
		{verify.RuleLicence, "moved: a start past the result", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 3), nth[events.ToolCompleted](l, 4))
		}},

		{verify.RuleOnce, "repeated: the start of a call", nil, func(l log) log { return l.repeat(nth[events.ToolStarted](l, 3)) }},
		{verify.RuleOnce, "repeated: the start under another claim", nil, func(l log) log {
			again := l[nth[events.ToolStarted](l, 3).commit]
			again.Cause.ID = "another"
			e := again.Events[0].(events.ToolStarted)
			e.Claim, e.Delivery = "another", 2
			again.ID, again.Events = ulid(2), []events.Event{e}
			return slices.Insert(l, nth[events.ToolStarted](l, 3).commit+1, again)
		}},
		{verify.RuleOnce, "moved: a start past the result unknown", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 4), nth[events.ToolCompleted](l, 5))
		}},
		{verify.RuleOnce, "swapped: a start and the result unknown", nil, func(l log) log {
			return l.swap(nth[events.ToolStarted](l, 4), nth[events.ToolCompleted](l, 5))
		}},
		{verify.RuleOnce, "changed: the call that a start is for", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolStarted) { e.Call.Ordinal = 1 }).move(nth[events.ToolStarted](l, 2), nth[events.ToolStarted](l, 1))
		}},
	}
}

func restMutations() []mutation {
	long := strings.Repeat("x", events.MaxInlineBytes)
	return []mutation{
		{verify.RuleTenants, "dropped: the digest of a turn's settings", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Settings.Digest = "none" })
		}},
		{verify.RuleTenants, "dropped: the settings themselves", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) { e.Settings.Body = nil })
		}},
		{verify.RuleTenants, "repeated: a commit of another tenant", nil, func(l log) log {
			again := l.repeatCommit(0)
			again[1].Key.Tenant = "other"
			return again
		}},
		{verify.RuleTenants, "swapped: tenant and chat of a commit", nil, func(l log) log {
			l[2].Key = events.Key{Tenant: ann.Chat, Chat: ann.Tenant}
			return l
		}},
		{verify.RuleTenants, "changed: a manifest's digest", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Manifest = "sha256:0" })
		}},
		{verify.RuleTenants, "moved: content to a name that is no digest", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) {
				e.Parts = []events.Part{{Type: events.PartText, Blob: "../other", Bytes: 9}}
			})
		}},

		{verify.RuleBounds, "dropped: room for the steps of a turn", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) {
				body := *e.Settings.Body
				body.Limits.Steps = 1
				e.Settings.Body = &body
			})
		}},
		{verify.RuleBounds, "repeated: an input, more often than may wait", nil, func(l log) log {
			s := nth[events.InputAccepted](l, 2)
			for i := range events.MaxWaitingInputs {
				e := l.at(s).(events.InputAccepted)
				e.Input = ulid(uint64(i))
				l.insert(s, e)
			}
			return l
		}},
		{verify.RuleBounds, "swapped: an input with one too long for the log", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = []events.Part{events.Text(long + "x")} })
		}},
		{verify.RuleBounds, "changed: a result to one too long for the model", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text(long)} })
		}},
		{verify.RuleBounds, "changed: an error's message to one too long for people", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnFailed) { e.Message = long })
		}},
		{verify.RuleBounds, "changed: the number of an attempt", nil, func(l log) log {
			return change(l, 3, func(e *events.StepRequested) { e.Attempt = events.MaxAttemptsPerStep + 1 })
		}},
		{verify.RuleBounds, "moved: a call's deadline out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Deadline = e.Deadline.Add(time.Hour) })
		}},
		{verify.RuleBounds, "moved: a retry out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = e.RetryAt.Add(2 * time.Hour) })
		}},
		{verify.RuleBounds, "moved: the end of an interrupt out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Due = e.Due.Add(time.Second) })
		}},
	}
}
