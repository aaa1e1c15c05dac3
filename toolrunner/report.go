package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Times of reporting.
const (
	resultWait     = 5 * time.Second        // for an answer; a commit may wait for a new leader
	resultPause    = 100 * time.Millisecond // before sending again, doubled up to
	maxResultPause = 5 * time.Second
	uploadWait     = 10 * time.Second
	uploadTries    = 3
)

// result is what is reported of a call that ended so.
func (r *Runner) result(ctx context.Context, w protocol.ToolWork, t offered, end ending) protocol.Result {
	status, text := judge(t.settings, end)
	var made []protocol.Artifact
	if status == events.ToolOK {
		var without string
		made, without = r.keep(ctx, w.Key(), w.Call, end.output.Artifacts)
		text = without + text
	}
	var parts []events.Part
	if list := end.output.Parts; len(list) > 0 && end.begun {
		room := events.MaxResultBytes - roomForWordsBytes - min(len(events.RepairText(text)), shown(end.output))
		var words string
		parts, words = r.parts(ctx, w.Key(), w.Call, list, room)
		text = words + text
	}
	res := protocol.Result{
		V: protocol.Version, Call: w.Call, Rev: w.Rev, Runner: r.cfg.Process,
		Status: status, IsError: status != events.ToolOK,
		Timing: events.ToolTiming{RanMS: end.ran.Milliseconds()}, Artifacts: made,
	}
	r.shape(ctx, w.Key(), &res, text, shown(end.output))
	res.Parts = append(res.Parts, parts...)
	r.metrics.call(ctx, t.labels, res)
	return res
}

// judge says what it means that a call ended so.
//
// Cancelled means that nothing happened, so it is said only of a tool without
// effects, or of an effect that did not begin and for which there was only this
// one licence. An idempotent tool may have run in another process already.
// Everything else that was cut short is unknown, whatever the tool says about
// it: one that gives up waiting for an answer cannot know either.
func judge(t events.Tool, end ending) (events.ToolStatus, string) {
	switch {
	case end.begun && end.err == nil && end.output.IsError:
		return events.ToolError, end.output.Text
	case end.begun && end.err == nil:
		return events.ToolOK, end.output.Text
	case end.cause == nil && errors.Is(end.err, ErrOutcomeUnknown) && !t.ReadOnly:
		return events.ToolUnknown, joined(end.output.Text, "started: "+end.err.Error())
	case end.cause == nil:
		return events.ToolError, joined(end.output.Text, end.err.Error())
	}
	why := end.cause.Error()
	switch {
	case !end.begun && (t.ReadOnly || !t.Idempotent):
		return events.ToolCancelled, "not started: " + why
	case !end.begun:
		return events.ToolUnknown, "not started here, outcome unknown: " + why
	case t.ReadOnly && errors.Is(end.cause, ErrTimeout):
		return events.ToolTimeout, joined(end.output.Text, fmt.Sprintf("stopped after %v: %s", end.ran.Round(time.Millisecond), why))
	case t.ReadOnly:
		return events.ToolCancelled, joined(end.output.Text, "stopped: "+why)
	}
	return events.ToolUnknown, joined(end.output.Text, "started, outcome unknown: "+why)
}

// joined is what a tool had to say, and then what we have.
func joined(output, text string) string {
	if output == "" {
		return text
	}
	return output + "\n\n" + text
}

// shown is how many bytes of an output the model reads at most.
func shown(o Output) int {
	if o.Shown <= 0 {
		return events.MaxResultBytes
	}
	return min(o.Shown, events.MaxResultBytes)
}

// shape puts the text into the result: repaired, cut to limit, and the whole
// stored beside it when the two differ.
func (r *Runner) shape(ctx context.Context, k events.Key, res *protocol.Result, raw string, limit int) {
	text := events.RepairText(raw)
	if text == "" {
		return
	}
	if text == raw && len(text) <= limit {
		res.Parts = []events.Part{events.Text(text)}
		return
	}
	stored := min(len(raw), protocol.MaxUploadBytes)
	digest, err := r.upload(ctx, k, []byte(raw[:stored]))
	if err != nil {
		r.log.Error("the whole result of a call could not be stored", "chat", k, "call", res.Call, "error", err)
	}
	res.Blob = digest
	res.Truncated = len(text) > limit
	res.Parts = []events.Part{events.Text(events.CutMiddle(text, limit, cutMarker(len(raw), digest, stored)))}
}

// upload stores content, with a few tries: it is worth a wait, but a result
// without its whole is better than none.
func (r *Runner) upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error) {
	var errs []error
	for try := range uploadTries {
		if try > 0 && !pause(ctx, retryPause) {
			break
		}
		asking, cancel := context.WithTimeout(ctx, uploadWait)
		digest, err := r.bus.Upload(asking, k, content)
		cancel()
		if err == nil {
			return digest, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// report sends the result until it has been answered, and says whether it was.
func (r *Runner) report(ctx context.Context, k events.Key, res protocol.Result) bool {
	wait := resultPause
	for ctx.Err() == nil {
		switch answer := r.send(ctx, k, res); answer.Answer {
		case protocol.ResultCommitted:
			return true
		case protocol.ResultDropped:
			r.log.Info("a result came too late", "chat", k, "call", res.Call, "status", res.Status, "why", answer.Why)
			return true
		case protocol.ResultUnavailable, "": // or one from a newer release: ask again
		}
		pause(ctx, wait)
		wait = min(2*wait, maxResultPause)
	}
	return false
}

// send is one report with one answer; an empty one means that none came.
func (r *Runner) send(ctx context.Context, k events.Key, res protocol.Result) protocol.ResultAnswer {
	asking, cancel := context.WithTimeout(ctx, resultWait)
	defer cancel()
	answer, err := r.bus.Result(asking, k, res)
	if err != nil {
		r.metrics.result(ctx, noAnswer)
		r.log.Debug("a result was not answered", "chat", k, "call", res.Call, "error", err)
		return protocol.ResultAnswer{}
	}
	r.metrics.result(ctx, answer.Answer)
	return answer
}
