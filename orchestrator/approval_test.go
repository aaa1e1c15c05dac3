package orchestrator_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// asking is a tool that needs a person.
func asking() protocol.Manifest {
	m := lookup()
	m.Name, m.ReadOnly, m.Policy = "asking", false, events.PolicyAsk
	return m
}

// outcome stores a command and waits for what is decided.
func (r *rig) outcome(k events.Key, body protocol.Body) protocol.Reply {
	r.Helper()
	_, outcome := r.command(k, body)
	return outcome()
}

var first = events.CallID{Turn: 1, Step: 1, Ordinal: 1}

func TestS7_4_AnApprovalSurvivesItsOrchestrator(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(asking())
		m := answers(calls("asking", `{"n":1}`), says("done"))
		o := r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send("do it"))
		r.eventually("it is asked", func() bool { return r.has(chatA, "approval.requested.v1") })
		o.process.Kill()
		<-o.ended
		r.start(m, nil)

		edit := protocol.Approve{V: protocol.Version, Call: first, Decision: protocol.DecideApprove, Args: json.RawMessage(`{"n":"two"}`)}
		if no := r.outcome(chatA, edit); no.Code != events.CodeInvalidAnswer || !strings.Contains(no.Message, "/n") {
			t.Errorf("arguments that do not fit: %+v", no)
		}
		edit.Args = json.RawMessage(`{"n":2}`)
		edit.Permissions = &events.Permissions{Grants: []string{"network"}}
		if yes := r.do(chatA, edit); !yes.OK || yes.Turn != 1 {
			t.Errorf("outcome %+v", yes)
		}
		if no := r.outcome(chatA, edit); no.Code != events.CodeAlreadyResolved || no.Status != "approved" {
			t.Errorf("once more: %+v", no)
		}
		r.runTool(chatA, events.Text("2"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if n := len(eventsOf[events.ToolRequested](r, chatA)); n != 1 {
			t.Errorf("handed out %d times", n)
		}
	})
}

func TestS7_4_TheEndOfTheWaitingSurvivesItsOrchestrator(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(asking())
		m := answers(calls("asking", `{"n":1}`), says("so be it"))
		o := r.start(m, nil)
		r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Limits: &events.Limits{ApprovalMS: 60_000}}})
		r.do(chatA, send("do it"))
		r.eventually("it is asked", func() bool { return r.has(chatA, "approval.requested.v1") })
		o.process.Kill()
		<-o.ended
		<-time.After(2 * time.Minute) // of the bubble: its time is over before anybody is there again
		began := time.Now()
		r.start(m, nil)
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if late := time.Since(began); late > 5*time.Second {
			t.Errorf("the deadline came %s late", late)
		}
		decided := eventsOf[events.ApprovalResolved](r, chatA)
		if len(decided) != 1 || decided[0].By != events.ResolvedByDeadline || decided[0].Decision != events.ApprovalDenied {
			t.Errorf("decided %+v", decided)
		}
	})
}

// What a client said of its tools is in the log, and nowhere else.
func TestS7_1_EditedArgumentsOfAClientToolNeedNoManifest(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		m := answers(calls("show", `{"n":1}`), says("done"))
		var logged bytes.Buffer
		o := r.start(m, func(c *orchestrator.Config, _ *orchestrator.Bus) {
			c.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
		})
		show := events.ClientTool{Name: "show", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
		r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{
			Approval: events.ApprovalAsk, ClientTools: &[]events.ClientTool{show},
		}})
		r.do(chatA, send("show it"))
		r.eventually("it is asked", func() bool { return r.has(chatA, "approval.requested.v1") })
		edit := protocol.Approve{V: protocol.Version, Call: first, Decision: protocol.DecideApprove, Args: json.RawMessage(`{"n":"two"}`)}
		if no := r.outcome(chatA, edit); no.Code != events.CodeInvalidAnswer {
			t.Errorf("arguments that do not fit: %+v", no)
		}
		edit.Args = json.RawMessage(`{"n":2}`)
		if yes := r.do(chatA, edit); !yes.OK {
			t.Errorf("outcome %+v", yes)
		}
		o.process.Kill()
		<-o.ended
		if logged.Len() > 0 {
			t.Errorf("logged %s", logged.String())
		}
	})
}
