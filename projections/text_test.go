package projections_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
)

func TestATranscriptAsText(t *testing.T) {
	t.Parallel()

	all := story{
		{events.ChatCreated{Title: "A day"}},
		{said("i1", "what time is it,\nand where?"), started(1, "i1"), asked(1, 1, 1)},
		{
			answered(1, 1,
				events.Part{Type: events.PartReasoning, Text: "two questions"}, events.Text("Let me see."),
				call(1, "current_time", ""), call(2, "current_place", "{\n \"exact\": true\n}")),
			handedOut(1, 1, 1), handedOut(1, 1, 2),
		},
		{result(1, 1, 1, events.ToolOK, "noon")},
		{result(1, 1, 2, events.ToolUnknown, "The call was started.\nIts outcome is unknown."), asked(1, 2, 1)},
		{answered(1, 2, events.Text("It is noon.\x1b[31m")), completed(1)},
		{events.TurnStarted{Turn: 2, Parent: 1, Cause: events.CauseRetry}, asked(2, 1, 1)},
		{said("i2", "and\nnow?")},
		{
			events.StepFailed{Step: events.StepID{Turn: 2, Step: 1}, Attempt: 1, Class: events.ClassQuota},
			events.TurnFailed{Turn: 2, Class: events.ClassQuota, Message: "no money", Totals: events.Totals{Steps: 1}},
		},
		{events.ChatArchived{}},
	}
	const want = `A day
chat ann, rev 10, failed, archived; times in UTC

[2026-11-29 12:00:02] user:ann
  what time is it,
  and where?

[2026-11-29 12:00:03] assistant
  (thinks) two questions
  Let me see.
  -> current_time {}  [1.1.1 ok]
     noon
  -> current_place { "exact": true }  [1.1.2 unknown]
     The call was started.
     Its outcome is unknown.

[2026-11-29 12:00:06] assistant
  It is noon.�[31m

-- turn 1 completed (1 step, 0 calls, 0 tokens in, 0 out)

-- turn 2 failed: quota: no money (1 step, 0 calls, 0 tokens in, 0 out)

.. waiting, queue, input i2: and now?
`
	b := all.written()
	for _, limit := range []int{1, 2, 3, 100} {
		var got strings.Builder
		w := projections.NewTextWriter(&got, nil)
		for _, page := range pages(t, open(t, b, nil), limit) {
			if err := w.WritePage(page); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestTextSaysWhatIsGoingOn(t *testing.T) {
	t.Parallel()

	begun := oneTurn()[:2]
	withCall := slices.Concat(begun, story{{answered(1, 1, call(1, "read", "{}")), handedOut(1, 1, 1)}})
	for _, tt := range []struct {
		name string
		log  story
		want string
	}{
		{"the model is asked", begun, ".. step 1.1, attempt 1, is under way\n"},
		{"a retry waits", append(begun[:2:2], []events.Event{events.StepFailed{
			Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Class: events.ClassTimeout, RetryAt: noon.Add(time.Minute),
		}}), ".. step 1.1 is tried again at 2026-11-29 12:01:00\n"},
		{"a tool runs", withCall, ".. turn 1 waits for tools\n"},
		{"what a call made is shown beside what it says", append(withCall[:3:3], []events.Event{events.ToolCompleted{
			Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Status: events.ToolOK, Parts: []events.Part{events.Text("done")},
			Artifacts: []events.Artifact{{Title: "out/\x1b[2Ja\n.svg", Version: 2, Type: "image/svg+xml", Digest: "sha256:12", Bytes: 7}},
		}}), "-> read {}  [1.1.1 ok]\n     <artifact out/\ufffd[2Ja .svg, version 2, image/svg+xml, 7 bytes, sha256:12>\n     done\n\n.. turn 1 waits for tools\n"},
		{"a turn is to end", append(withCall[:3:3], []events.Event{events.TurnInterruptRequested{Turn: 1}}), ".. turn 1 is being interrupted\n"},
		{"nothing", oneTurn(), "-- turn 1 completed (1 step, 0 calls, 0 tokens in, 0 out)\n"},
		{"nothing yet", story{{created()}}, "chat ann, rev 1, idle; times in UTC\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			if err := projections.NewTextWriter(&got, nil).WritePage(transcript(t, tt.log.written())); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(got.String(), tt.want) {
				t.Errorf("text:\n%s\nwant at its end: %s", got.String(), tt.want)
			}
		})
	}
}

type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestTextReportsThatItCannotBeWritten(t *testing.T) {
	t.Parallel()

	want := errors.New("no room")
	if err := projections.NewTextWriter(full{want}, time.UTC).WritePage(transcript(t, oneTurn().written())); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
