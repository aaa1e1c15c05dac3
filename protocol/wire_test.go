package protocol_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/wiretest"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

var (
	noon   = events.Time(1795953600123) // 2026-11-29T12:00:00.123Z
	step   = events.StepID{Turn: 3, Step: 2}
	call   = events.CallID{Turn: 3, Step: 2, Ordinal: 1}
	digest = events.DigestOf([]byte("content"))
	key    = events.Key{Tenant: "acme", Chat: "01KB6Q3Z8V0000000000000000"}
)

const (
	ulidOfCommand = "01KB6Q3Z8V0000000000000001"
	ulidOfClaim   = "01KB6Q3Z8V0000000000000002"
	nameOfRunner  = "files.01KB6Q3Z8V0000000000000003"
)

func everySetting() events.Settings {
	return events.Settings{
		Model: "script/demo", System: "Be brief.", Tools: new([]string{"read_file"}),
		Approval: events.ApprovalAuto, Limits: &events.Limits{Steps: 10, OutputTokens: 2000},
	}
}

func text(s string) []events.Part { return []events.Part{events.Text(s)} }

func everyManifest() protocol.Manifest {
	return protocol.Manifest{
		Name: "read_file", Description: "Reads a file & shows it.", Schema: json.RawMessage(`{"type":"object"}`),
		Group: "files", ReadOnly: true, Idempotent: true, Exclusive: true, StopAfter: true, Parallel: new(false),
		TimeoutMS: 5000, Policy: events.PolicyAllow,
	}
}

func TestCommandWire(t *testing.T) {
	t.Parallel()
	seen := map[protocol.Verb]bool{}
	for _, tt := range []struct {
		size string
		want protocol.Body
	}{
		{"full", protocol.Create{V: 1, Settings: everySetting(), Title: "Trip"}},
		{"minimal", protocol.Create{V: 1}},
		{"full", protocol.Send{V: 1, Parts: text("hi"), Mode: events.ModeReject, Settings: new(everySetting())}},
		{"minimal", protocol.Send{V: 1, Parts: text("hi")}},
		{"agent", protocol.Create{V: 1, Settings: events.Settings{Agent: "reviewer"}}},
		{"agent", protocol.Send{V: 1, Parts: text("hi"), Settings: &events.Settings{Agent: "reviewer"}}},
		{"agent", protocol.Edit{V: 1, Parts: text("hello"), Settings: &events.Settings{Agent: "reviewer"}}},
		{"agent", protocol.Configure{V: 1, Settings: events.Settings{Agent: "reviewer"}}},
		{"full", protocol.Interrupt{V: 1, Turn: 3, Reason: "changed my mind"}},
		{"minimal", protocol.Interrupt{V: 1}},
		{"full", protocol.Configure{V: 1, Settings: everySetting()}},
		{"minimal", protocol.Configure{V: 1}},
		{"full", protocol.Rename{V: 1, Title: "Trip"}},
		{"full", protocol.Archive{V: 1}},
		{"full", protocol.Unarchive{V: 1}},
		{"full", protocol.Withdraw{V: 1, Input: ulidOfCommand}},
		{"full", protocol.Promote{V: 1, Input: ulidOfCommand, Interrupt: true}},
		{"minimal", protocol.Promote{V: 1, Input: ulidOfCommand}},
		{"full", protocol.EditInput{V: 1, Input: ulidOfCommand, Parts: text("hi")}},
		{"full", protocol.Retry{V: 1, Turn: 3}},
		{"minimal", protocol.Retry{V: 1}},
		{"full", protocol.Continue{V: 1, Turn: 3}},
		{"minimal", protocol.Continue{V: 1}},
		{"full", protocol.Edit{V: 1, Turn: 3, Input: ulidOfCommand, Parts: text("hello"), Settings: new(everySetting())}},
		{"minimal", protocol.Edit{V: 1, Parts: text("hello")}},
		{"full", protocol.Regenerate{V: 1, Turn: 3}},
		{"minimal", protocol.Regenerate{V: 1}},
		{"full", protocol.SelectBranch{V: 1, Turn: 3}},
		{"full", protocol.Compact{V: 1}},
		{"full", protocol.Clear{V: 1}},
		{"full", protocol.Restore{V: 1}},
		{"full", protocol.Fork{V: 1, Chat: "oslo", Rev: 17, Title: "Trip"}},
		{"minimal", protocol.Fork{V: 1, Chat: "oslo"}},
		{"full", protocol.Import{V: 1, History: digest, Missing: []events.Digest{digest}, Title: "Trip"}},
		{"minimal", protocol.Import{V: 1, History: digest}},
		{"full", protocol.Answer{V: 1, Call: call, Answers: []events.Answer{{Question: "color", Text: "red"}}, Hold: new(true)}},
		{"full", protocol.ClientResult{V: 1, Call: call, Parts: text("done"), IsError: true}},
		{"minimal", protocol.ClientResult{V: 1, Call: call, Parts: text("done")}},
		{"minimal", protocol.Answer{V: 1, Call: call, Answers: []events.Answer{{Question: "color", Text: "red"}}}},
		{"full", protocol.Approve{
			V: 1, Call: call, Decision: protocol.DecideApproveForChat, Arguments: digest, Args: json.RawMessage(`{"path":"b.txt"}`),
			Permissions: &events.Permissions{Grants: []string{"network"}}, Reason: "but not that file",
		}},
		{"deny", protocol.Approve{V: 1, Call: call, Decision: protocol.DecideDeny, Reason: "not that file", Stop: true}},
		{"minimal", protocol.Approve{V: 1, Call: call, Decision: protocol.DecideApprove}},
		{"full", protocol.SetMode{V: 1, Approval: events.ApprovalAsk}},
		{"plan", protocol.SetMode{V: 1, Plan: new(true)}},
		{"full", protocol.Extend{V: 1, Turn: 3, Add: events.Budget{Tokens: 50_000, CostMicros: events.Unlimited, TimeMS: 60_000}}},
		{"chat", protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 50_000}}},
		{"minimal", protocol.Extend{V: 1}},
		{"full", protocol.Erase{V: 1, Rev: new(uint64(17))}},
		{"minimal", protocol.Erase{V: 1}},
	} {
		verb := string(tt.want.Verb())
		seen[tt.want.Verb()] = true
		t.Run(verb+"/"+tt.size, func(t *testing.T) {
			t.Parallel()
			encoded, err := json.Marshal(tt.want)
			if err != nil {
				t.Fatal(err)
			}
			file := wiretest.Frozen(t, "command."+verb+"."+tt.size+".json", encoded)
			got, err := protocol.DecodeCommand(verb, file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("old bytes mean something else (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(file), string(encoded)); diff != "" {
				t.Errorf("bytes have changed (-frozen +encoded):\n%s", diff)
			}
		})
	}
	for _, verb := range verbs(t) {
		if !seen[protocol.Verb(verb)] {
			t.Errorf("the verb %s has no wire file", verb)
		}
		if !slices.Contains(protocol.Verbs(), protocol.Verb(verb)) {
			t.Errorf("the verb %s is not among those that accounts may use", verb)
		}
	}
}

// verbs are the values of all constants of type Verb in the package's source.
func verbs(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Verb" && isLiteral {
				found = append(found, strings.Trim(literal.Value, `"`))
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatal("no verb in the source")
	}
	return found
}

func TestWorkWire(t *testing.T) {
	t.Parallel()
	wiretest.Body(t, "work.model.full.json", protocol.ModelWork{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Rev: 18, Step: step, Attempt: 1, Purpose: events.PurposeAnswer, Pool: "default",
	})
	wiretest.Body(t, "work.tool.full.json", protocol.ToolWork{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Rev: 18, Call: call, Tool: "read_file", Group: "files", Manifest: digest,
		Arguments: json.RawMessage(`{"path":"a.txt"}`), IdempotencyKey: protocol.IdempotencyKey(key, call),
		TimeoutMS: 120000, Deadline: noon,
	})
	wiretest.Body(t, "work.tool.blob.json", protocol.ToolWork{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Rev: 18, Call: call, Tool: "read_file", Group: "files", Manifest: digest,
		Blob: digest, IdempotencyKey: protocol.IdempotencyKey(key, call), TimeoutMS: 120000, Deadline: noon,
	})
	wiretest.Body(t, "work.tool.granted.json", protocol.ToolWork{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Rev: 18, Call: call, Tool: "read_file", Group: "files", Manifest: digest,
		Arguments: json.RawMessage(`{"path":"a.txt"}`), IdempotencyKey: protocol.IdempotencyKey(key, call),
		TimeoutMS: 120000, Deadline: noon, Permissions: events.Permissions{Grants: []string{"network"}},
	})
	wiretest.Body(t, "timer.full.json", protocol.Timer{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Rev: 18, Name: "deadline-3-2-1", Due: noon,
	})
}

func TestRunnerWire(t *testing.T) {
	t.Parallel()
	wiretest.Body(t, "claim.full.json", protocol.Claim{V: 1, Call: call, Rev: 18, Claim: ulidOfClaim, Delivery: 2, Runner: nameOfRunner})
	wiretest.Body(t, "claim-answer.granted.json", protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: 1000})
	wiretest.Body(t, "claim-answer.over.json", protocol.ClaimAnswer{Answer: protocol.ClaimOver, Why: "the turn has ended"})
	wiretest.Body(t, "claim-answer.busy.json", protocol.ClaimAnswer{Answer: protocol.ClaimBusy, Why: "another runs it", RetryMS: 2000})
	wiretest.Body(t, "result.full.json", protocol.Result{
		V: 1, Call: call, Rev: 18, Runner: nameOfRunner, Status: events.ToolError, IsError: true, Parts: text("no such file"),
		Truncated: true, Blob: digest, Timing: events.ToolTiming{RanMS: 42},
	})
	wiretest.Body(t, "artifact.full.json", protocol.Artifact{Title: "out/map.svg", Type: "image/svg+xml", Digest: digest, Bytes: 1200})
	wiretest.Body(t, "result.artifacts.json", protocol.Result{
		V: 1, Call: call, Rev: 18, Runner: nameOfRunner, Status: events.ToolOK, Parts: text("drawn"),
		Artifacts: []protocol.Artifact{{Title: "out/map.svg", Type: "image/svg+xml", Digest: digest, Bytes: 1200}, {Title: "raw", Digest: digest, Bytes: 1}},
	})
	wiretest.Body(t, "result.minimal.json", protocol.Result{V: 1, Call: call, Rev: 18, Runner: nameOfRunner, Status: events.ToolOK})
	wiretest.Body(t, "result-answer.committed.json", protocol.ResultAnswer{Answer: protocol.ResultCommitted, Rev: 19})
	wiretest.Body(t, "result-answer.dropped.json", protocol.ResultAnswer{Answer: protocol.ResultDropped, Why: "late"})
	wiretest.Body(t, "result-answer.unavailable.json", protocol.ResultAnswer{Answer: protocol.ResultUnavailable})
	wiretest.Body(t, "ask.full.json", protocol.Ask{
		V: 1, Call: call, Rev: 18, Claim: ulidOfClaim, N: 2, TimeoutMS: 90000,
		Questions: []events.Question{{ID: "color", Header: "Color", Text: "Which color?", Options: []events.Option{
			{Label: "red", Description: "like a rose"}, {Label: "blue", Description: "like the sea"},
		}}},
	})
	wiretest.Body(t, "ask-answer.waiting.json", protocol.AskAnswer{Answer: protocol.AskWaiting})
	wiretest.Body(t, "ask-answer.answered.json", protocol.AskAnswer{
		Answer: protocol.AskAnswered, Answers: []events.Answer{{Question: "color", Text: "red"}}, By: "user:ann",
	})
	wiretest.Body(t, "ask-answer.expired.json", protocol.AskAnswer{
		Answer: protocol.AskAnswered, Answers: []events.Answer{{Question: "color", Text: "red"}}, Expired: true,
	})
	wiretest.Body(t, "ask-answer.over.json", protocol.AskAnswer{Answer: protocol.AskOver, Why: "the call is not open"})
	wiretest.Body(t, "ask-answer.refused.json", protocol.AskAnswer{Answer: protocol.AskRefused, Why: "Question 1: its text is blank."})
	wiretest.Body(t, "ask-answer.unavailable.json", protocol.AskAnswer{Answer: protocol.AskUnavailable})
	wiretest.Body(t, "runner-question.full.json", protocol.RunnerQuestion{
		V: 1, Tenant: key.Tenant, Chat: key.Chat, Call: call, Claim: ulidOfClaim,
	})
	wiretest.Body(t, "runner-answer.full.json", protocol.RunnerAnswer{Running: true})
	wiretest.Body(t, "upload.chunk.json", protocol.Upload{V: 1, Data: []byte{0, 1, 0xff}})
	wiretest.Body(t, "upload.join.json", protocol.Upload{V: 1, Chunks: []events.Digest{digest}, Blob: digest})
	wiretest.Body(t, "upload.import.json", protocol.Upload{V: 1, Chunks: []events.Digest{digest}, Blob: digest, Import: true})
	wiretest.Body(t, "upload-answer.full.json", protocol.UploadAnswer{Blob: digest})
	wiretest.Body(t, "query.upload.json", protocol.UploadQuery{
		Chat: "c1", Upload: protocol.Upload{V: 1, Data: []byte{0, 1, 0xff}, Blob: digest},
	})
	wiretest.Body(t, "query.download.json", protocol.DownloadQuery{Chat: "c1", Download: protocol.Download{V: 1, Blob: digest, Offset: 7}})
	wiretest.Body(t, "upload-answer.code.json", protocol.UploadAnswer{Error: "too many requests", Code: events.CodeUnavailable})
	wiretest.Body(t, "download-answer.code.json", protocol.DownloadAnswer{Error: "not found", Code: events.CodeBadCommand})
	wiretest.Body(t, "upload-answer.error.json", protocol.UploadAnswer{Error: "a chunk is missing"})
	wiretest.Body(t, "download.full.json", protocol.Download{V: 1, Blob: digest, Offset: 262144})
	wiretest.Body(t, "download-answer.full.json", protocol.DownloadAnswer{Data: []byte{0, 1, 0xff}, Bytes: 3})
	wiretest.Body(t, "download-answer.error.json", protocol.DownloadAnswer{Error: "not found"})
	wiretest.Body(t, "offer.full.json", protocol.Offer{
		V: 1, Group: "files", Runner: nameOfRunner, Manifests: []protocol.Manifest{everyManifest()},
	})
	wiretest.Body(t, "offer-answer.full.json", protocol.OfferAnswer{Refused: []string{"", "name: bad"}})
	wiretest.Body(t, "offer-answer.digests.json", protocol.OfferAnswer{
		Refused: []string{"", "name: bad"}, Digests: []events.Digest{events.DigestOf([]byte("manifest")), ""},
	})
	wiretest.Body(t, "manifest.full.json", everyManifest())
	wiretest.Body(t, "manifest.minimal.json", protocol.Manifest{
		Name: "now", Description: "", Schema: json.RawMessage(`{}`), Group: "time",
	})
}

func TestFeedWire(t *testing.T) {
	t.Parallel()
	wiretest.Body(t, "stop.turn.json", protocol.Stop{V: 1, Turn: 3})
	wiretest.Body(t, "stop.attempt.json", protocol.Stop{V: 1, Turn: 3, Step: &step, Attempt: 2})
	wiretest.Body(t, "stop.call.json", protocol.Stop{V: 1, Turn: 3, Call: &call})
	wiretest.Body(t, "delta.full.json", protocol.Delta{Turn: 3, Step: step, Attempt: 1, Part: 0, I: 17, Kind: "text", Text: "Hel"})
	wiretest.Body(t, "progress.full.json", protocol.Progress{Call: call, I: 2, Text: "40 %"})
	wiretest.Body(t, "reply.ok.json", protocol.Reply{ID: ulidOfCommand, OK: true, Rev: 18, Turn: 3, Input: ulidOfCommand})
	wiretest.Body(t, "reply.refused.json", protocol.Reply{
		ID: ulidOfCommand, Code: events.CodeAlreadyFinished, Message: "turn 3 has ended", Rev: 18, Status: "complete",
	})
}

// A runner or client may be newer than the orchestrator it talks to.
func TestUnknownFieldsAreIgnoredOutsideOfCommands(t *testing.T) {
	t.Parallel()
	var got protocol.Claim
	if err := json.Unmarshal([]byte(`{"v":1,"call":"3.2.1","rev":18,"claim":"c","delivery":1,"runner":"r","mood":"good"}`), &got); err != nil {
		t.Fatal(err)
	}
	if want := (protocol.Claim{V: 1, Call: call, Rev: 18, Claim: "c", Delivery: 1, Runner: "r"}); got != want {
		t.Errorf("got %v", got)
	}
}
