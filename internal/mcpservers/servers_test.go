//go:build processes

package mcpservers

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// Real servers, real processes, and a model that answers from a script: what each
// gives is in the transcript, and in what the model is shown next.
func TestServers(t *testing.T) {
	t.Parallel()
	i := install(t)
	for _, tt := range []struct {
		text   string
		status events.ToolStatus
		inside []string // of the result
		parts  []events.PartType
	}{
		{"the sum", events.ToolOK, []string{"The sum of 20 and 22 is 42"}, nil},
		{"a tiny image", events.ToolOK, []string{"image you requested"}, []events.PartType{events.PartImage}},
		{"something structured", events.ToolOK, []string{"temperature"}, []events.PartType{events.PartData}},
		{"some links", events.ToolOK, []string{"demo://resource"}, []events.PartType{events.PartSource, events.PartSource, events.PartSource}},
		{"something annotated", events.ToolOK, []string{"Error: Operation failed"}, []events.PartType{events.PartImage}},
		{"a reference", events.ToolOK, []string{"demo://resource"}, nil},
		{"bad arguments", events.ToolInvalid, []string{"/a"}, nil},
		{"something slowly", events.ToolOK, []string{"Duration: 2 seconds"}, nil},
		{"the sum by http", events.ToolOK, []string{"42"}, nil},
		{"an image by http", events.ToolOK, nil, []events.PartType{events.PartImage}},
		{"read outside", events.ToolError, []string{"Access denied"}, nil},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			chat, progress := i.say(t, tt.text)
			call := i.call(t, chat)
			result, err := json.Marshal(call.Result)
			if err != nil {
				t.Fatal(err)
			}
			if call.Status != transcript.CallStatus(tt.status) {
				t.Errorf("the call is %s: %s", call.Status, result)
			}
			prompt := i.prompt(t, chat)
			for _, want := range tt.inside {
				if !strings.Contains(string(result), want) {
					t.Errorf("%q is not in the transcript: %s", want, result)
				}
				if !strings.Contains(prompt, want) {
					t.Errorf("%q is not in the prompt: %s", want, prompt)
				}
			}
			var parts []events.PartType
			for _, p := range call.Result {
				if p.Type == events.PartText {
					continue
				}
				parts = append(parts, p.Type)
				if !strings.Contains(prompt, `"`+string(p.Type)+`"`) || p.Blob != "" && !strings.Contains(prompt, string(p.Blob)) {
					t.Errorf("a part of type %s is not in the prompt: %s", p.Type, prompt)
				}
			}
			if len(parts) != len(tt.parts) || len(parts) > 0 && parts[0] != tt.parts[0] {
				t.Errorf("parts: %v, want %v", parts, tt.parts)
			}
			if strings.Contains(tt.text, "slowly") && progress == 0 {
				t.Error("nobody was told of its progress")
			}
		})
	}
}

// What a server keeps is there after it was killed, and after its runner was.
func TestServersSurviveKills(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.wantResult(t, "remember it", events.ToolOK, "Oslo")
	i.wantResult(t, "write it", events.ToolOK, "")
	i.wantOthers(t, i.killServers(t))
	i.wantResult(t, "recall it", events.ToolOK, "it is cold")
	i.wantResult(t, "read it", events.ToolOK, "kept")
	i.killRunner(t)
	i.wantGone(t)
	i.startRunner(t)
	i.wantResult(t, "recall it", events.ToolOK, "it is cold")
	i.wantResult(t, "read it", events.ToolOK, "kept")
	i.wantResult(t, "the sum", events.ToolOK, "42")
}

func TestAServerThatIsKilledInACall(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.begin(t, "for ages")
	i.waitStarted(t, chat)
	i.killServers(t)
	if call := i.waitCall(t, chat); call.Status != transcript.CallStatus(events.ToolUnknown) {
		t.Errorf("the call is %s: %+v", call.Status, call.Result)
	}
	i.wantResult(t, "the sum", events.ToolOK, "42")
}

func TestACallIsCancelledInItsMiddle(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.begin(t, "for ages")
	i.waitStarted(t, chat)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := i.client.Interrupt(ctx, chat, 0, "enough"); err != nil {
		t.Fatal(err)
	}
	if call := i.waitCall(t, chat); call.Status != transcript.CallStatus(events.ToolUnknown) {
		t.Errorf("the call is %s: %+v", call.Status, call.Result)
	}
	i.wantResult(t, "the sum", events.ToolOK, "42") // the server is as it was
}

// What a server wants to know in the middle of a call is asked in the chat, and answered
// there.
func TestAServerAsksAPerson(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.begin(t, "ask me")
	call := &transcript.Call{}
	for range events.MaxAsksPerCall {
		i.wait(t, "it asks, or has asked enough", func() bool {
			call = i.found(t, chat)
			return call != nil && (call.Result != nil || call.Status == transcript.CallAsking && call.Question.Answers == nil)
		})
		if call.Result != nil {
			break
		}
		var answers []events.Answer
		for _, q := range call.Question.Questions {
			answer := events.Answer{Question: q.ID, Text: q.Options[0].Label}
			if strings.Contains(q.Text, "legal name") {
				answer.Text = "Ada Lovelace"
			}
			answers = append(answers, answer)
		}
		i.answer(t, chat, call.ID, answers)
	}
	result, err := json.Marshal(i.waitCall(t, chat).Result)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(result), "Ada Lovelace") {
		t.Errorf("the server does not hear the answer: %s", result)
	}
}

// The one turn of everturn run waits for servers, so that it has their tools.
func TestOneTurnHasTheToolsOfServers(t *testing.T) {
	t.Parallel()
	i := install(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(i.bin, "everturn"), "run", "--script", "script.yaml", "--mcp", i.file, "--workspace", i.workspace, "a tiny image")
	run.Env = i.environment(filepath.Dir(i.file))
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "image/png") {
		t.Errorf("%v\n%s", err, out)
	}
}
