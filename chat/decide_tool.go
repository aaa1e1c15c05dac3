package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// What a model is told of calls that no runner answered.
const (
	saidCut        = "The arguments were cut off. The call was not run."
	saidRefused    = "The answer was refused. The call was not run."
	saidExclusive  = "This tool must be the only call of its step. None of the calls was run."
	saidApproval   = "This call needs a person's approval, which nobody can give here. It was not run."
	saidDenied     = "A person denied this call. It was not run."
	saidUnanswered = "Nobody decided in time whether this call may run: no answer. It was not run."
	saidCancelled  = "The call was cancelled before it had any effect."
	saidTimeout    = "The call did not start in time. It had no effect."
	saidUnknown    = "The call was started; its outcome is unknown. It may have had its effect."
	saidImported   = "The call was open where this conversation was taken over from. Its outcome is unknown."
	saidRestored   = "The call was open in the backup that this conversation was restored from. Its outcome is unknown."
	saidFailing    = "The call was started several times and never finished."
)

// settledByRule is a result that no runner gave. Without said it is the usual
// sentence for the status.
func settledByRule(id events.CallID, status events.ToolStatus, said string) events.ToolCompleted {
	if said == "" {
		switch status {
		case events.ToolCancelled:
			said = saidCancelled
		case events.ToolTimeout:
			said = saidTimeout
		case events.ToolUnknown:
			said = saidUnknown
		case events.ToolOK, events.ToolError, events.ToolDenied, events.ToolInvalid, events.ToolNotFound:
		}
	}
	return events.ToolCompleted{
		Call: id, Status: status, IsError: true, Parts: []events.Part{events.Text(cutResult(events.RepairText(said)))},
	}
}

// settleCalls gives the calls of a step that must not run their results, and begins
// those that no runner is given. Arguments over their limit are taken out of the
// answer; the result says so.
func settleCalls(
	e *events.StepCompleted, settings events.Effective, schemas map[events.Digest]*Schema, mayRun func(events.Tool) bool,
	b *beginning,
) []events.Event {
	var list []events.Event
	exclusive := callsIn(e.Parts) > 1 && slices.ContainsFunc(e.Parts, func(p events.Part) bool {
		t, ok := findTool(settings, p.Name)
		return p.Type == events.PartCall && ok && t.Exclusive
	})
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Type != events.PartCall {
			continue
		}
		id := events.CallID{Turn: e.Step.Turn, Step: e.Step.Step, Ordinal: p.Ordinal}
		var status events.ToolStatus
		var said string
		var begun []events.Event
		size := len(p.Arguments)
		if size > events.MaxArgumentsBytes {
			p.Arguments = ""
		}
		switch {
		case e.Stop == events.StopLength:
			status, said = events.ToolInvalid, saidCut
		case e.Stop == events.StopRefused:
			status, said = events.ToolInvalid, saidRefused
		case exclusive:
			status, said = events.ToolDenied, saidExclusive
		case size > events.MaxArgumentsBytes:
			status = events.ToolInvalid
			said = fmt.Sprintf("The arguments have %d bytes, at most %d are allowed.", size, events.MaxArgumentsBytes)
		default:
			if status, said = judge(*p, settings, schemas, mayRun); status == "" {
				begun, status, said = b.call(id, *p, settings)
			}
		}
		list = append(list, begun...)
		if status != "" {
			list = append(list, settledByRule(id, status, said))
		}
	}
	return list
}

// judge says why a call must not run, or nothing.
func judge(
	p events.Part, settings events.Effective, schemas map[events.Digest]*Schema, mayRun func(events.Tool) bool,
) (events.ToolStatus, string) {
	if status, said := judgeArguments(p, settings, schemas); status != "" {
		return status, said
	}
	if tool, _ := findTool(settings, p.Name); !mayRun(tool) {
		return events.ToolDenied, saidApproval
	}
	return "", ""
}

// judgeArguments says why a call cannot run as it is, or nothing.
func judgeArguments(p events.Part, settings events.Effective, schemas map[events.Digest]*Schema) (events.ToolStatus, string) {
	tool, ok := findTool(settings, p.Name)
	if !ok {
		return events.ToolNotFound, fmt.Sprintf("There is no tool named %q.", events.Shorten(p.Name, maxTitleChars))
	}
	schema, ok := known().schemas[tool.Manifest]
	if !ok && tool.Client {
		schema, ok = clientSchema(settings, tool.Name)
	} else if !ok {
		schema, ok = schemas[tool.Manifest]
	}
	if !ok {
		return events.ToolInvalid, "The tool's schema could not be read. The call was not run."
	}
	arguments := normalArguments(p.Arguments)
	if wrong := schema.check(arguments); wrong != "" {
		return events.ToolInvalid, wrong
	}
	if !events.IsObject(arguments) { // whatever the schema says: no runner and no provider takes anything else
		return events.ToolInvalid, "The arguments must be one JSON object."
	}
	return "", ""
}

func needsApproval(mode events.ApprovalMode, tool events.Tool) bool {
	switch mode {
	case events.ApprovalFull:
		return false
	case events.ApprovalAsk:
		return !tool.ReadOnly
	case events.ApprovalAuto:
	}
	return tool.Policy != events.PolicyAllow
}

func findTool(settings events.Effective, name string) (events.Tool, bool) {
	i := slices.IndexFunc(settings.Tools, func(t events.Tool) bool { return t.Name == name })
	if i < 0 {
		return events.Tool{}, false
	}
	return settings.Tools[i], true
}

// decideClaim answers a runner before an effect. It is the one decision that
// compares times, and only with times that stand in events.
func decideClaim(s State, m Claim, at events.Time) Decision {
	c := s.call(m.Call)
	same := c != nil && c.Started != nil && c.Started.Claim == m.Claim.Claim
	switch {
	case c == nil, !c.open(), c.Requested == nil:
		return over("the call is not open")
	case m.Group != "" && m.Group != c.Requested.Group:
		return over("the call was handed to another group")
	case s.Interrupting():
		return over("the turn is being interrupted")
	case same && at.Sub(c.Started.At) >= events.Dead/2:
		return busy(events.Dead, "this claim was granted too long ago to begin now")
	case at.Add(events.Dead) > c.Requested.Deadline:
		return over("the call's deadline is near")
	case same: // the answer was lost on its way; nobody else can have used it
		return granted()
	case c.Started == nil && !c.Requested.Idempotent, c.Requested.Idempotent && m.Delivery > 1:
		return startOrGiveUp(c, m, at)
	case c.Started == nil:
		return granted()
	case c.Requested.Idempotent:
		return busy(events.Dead, "a later delivery runs it")
	}
	return otherClaim(s, c, m, at)
}

func over(why string) Decision {
	return Decision{Claim: &protocol.ClaimAnswer{Answer: protocol.ClaimOver, Why: why}}
}

func busy(retry time.Duration, why string) Decision {
	return Decision{Claim: &protocol.ClaimAnswer{Answer: protocol.ClaimBusy, Why: why, RetryMS: max(retry, time.Second).Milliseconds()}}
}

func granted() Decision {
	return Decision{Claim: &protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: events.Grant.Milliseconds()}}
}

// startOrGiveUp records a licence. An idempotent call that was licensed often
// enough without a result is given up: something about it kills its runners.
func startOrGiveUp(c *call, m Claim, at events.Time) Decision {
	if c.Requested.Idempotent {
		if c.Started != nil && m.Delivery <= c.Started.Delivery {
			return busy(events.Dead, "a later delivery runs it")
		}
		if c.Starts >= events.MaxStartsIdempotent {
			d := over("the call was started too often")
			d.Events = []events.Event{settledByRule(m.Call, events.ToolError, saidFailing)}
			return d
		}
	}
	d := granted()
	d.Events = []events.Event{events.ToolStarted{
		Call: m.Call, Claim: m.Claim.Claim, Delivery: m.Delivery, Runner: m.Runner, At: at,
	}}
	return d
}

// otherClaim is asked for a call that is not idempotent and that somebody else
// was licensed to run. As long as that one may be running the answer is to wait;
// after that nobody can say what happened, and nobody tries again.
func otherClaim(s State, c *call, m Claim, at events.Time) Decision {
	age := at.Sub(c.Started.At)
	switch {
	case age < events.Dead:
		return busy(events.Dead-age, "another runner may be starting it")
	case m.Delivery <= c.Started.Delivery:
		return busy(events.Dead, "a later delivery was granted")
	case m.Holder == HolderNotAsked:
		return Decision{AskRunner: c.Started.Runner, Ask: &protocol.RunnerQuestion{
			V: protocol.Version, Tenant: s.f.Tenant, Chat: s.f.Chat, Call: m.Call, Claim: c.Started.Claim,
		}}
	case m.Holder == HolderRunning:
		return busy(events.Dead, "another runner is running it")
	}
	d := over("the call was started, its outcome is unknown")
	d.Events = []events.Event{settledByRule(m.Call, events.ToolUnknown, "")}
	return d
}

// decideResult takes the first result of a call and drops every other.
func decideResult(s State, m Result) Decision {
	c := s.call(m.Call)
	switch {
	case c == nil, !c.open(), c.Requested == nil:
		return dropped("the call has its result, or was never asked for")
	case m.Group != "" && m.Group != c.Requested.Group:
		return dropped("the call was handed to another group")
	case !c.Requested.Idempotent && c.Started == nil:
		return dropped("the call was never licensed to run")
	}
	e := events.ToolCompleted{
		Call: m.Call, Status: m.Status, IsError: m.IsError, Truncated: m.Truncated, Blob: m.Blob, Runner: m.Runner, Timing: m.Timing,
	}
	switch m.Status {
	case events.ToolOK, events.ToolError, events.ToolTimeout, events.ToolUnknown, events.ToolInvalid, events.ToolNotFound:
	case events.ToolCancelled:
		if !s.Interrupting() {
			e.Status = events.ToolError // nobody cancelled it: the runner gave up by itself
		}
	case events.ToolDenied:
		e.Status = events.ToolError // not a runner's to say
	default:
		e.Status = events.ToolError
	}
	if e.Status != events.ToolOK {
		e.IsError = true
	}
	if !e.Blob.Valid() {
		e.Blob = "" // a name of nothing
	}
	parts := m.Parts
	if e.Status == events.ToolOK {
		var without string
		if e.Artifacts, without = s.madeBy(m.Artifacts); without != "" {
			parts = append([]events.Part{events.Text(without)}, parts...) // in front, where nothing is cut off
		}
	}
	e.Parts, e.Truncated = cutParts(parts, m.Truncated)
	return Decision{Events: []events.Event{e}, Result: &protocol.ResultAnswer{Answer: protocol.ResultCommitted}}
}

func dropped(why string) Decision {
	return Decision{Result: &protocol.ResultAnswer{Answer: protocol.ResultDropped, Why: why}}
}

// cutParts repairs a result's parts and cuts them, as a safety for runners that
// did not, to [events.MaxResultBytes] in all.
func cutParts(parts []events.Part, truncated bool) ([]events.Part, bool) {
	var kept []events.Part
	room := events.MaxResultBytes
	for _, p := range parts {
		switch p.Type {
		case events.PartText, events.PartData:
		case events.PartImage, events.PartFile, events.PartSource:
			if p, ok := cleanNamed(p); ok && len(kept) < maxInputParts {
				kept = append(kept, p)
			}
			continue
		case events.PartReasoning, events.PartCall, events.PartProviderCall, events.PartProviderResult:
			continue // nothing a tool can say
		default:
			continue
		}
		text := events.RepairText(p.Text + p.JSON)
		cut := events.CutText(text, room)
		room -= len(cut)
		truncated = truncated || len(cut) < len(text)
		if p.Type == events.PartData && len(cut) == len(text) && json.Valid([]byte(text)) {
			kept = append(kept, events.Part{Type: events.PartData, JSON: text})
			continue
		}
		kept = append(kept, events.Text(cut))
	}
	return kept, truncated
}

// maxURLBytes bounds where a part of a result is said to lie.
const maxURLBytes = 2 << 10

// cleanNamed is a part of a result that names something, with nothing else in it: no
// content of an image gets into the log. It is false if nothing is named.
func cleanNamed(p events.Part) (events.Part, bool) {
	clean := events.Part{
		Type: p.Type, Name: cleanName(p.Name), Title: cleanName(p.Title), URL: events.RepairText(p.URL),
		MediaType: p.MediaType, Blob: p.Blob, Bytes: p.Bytes,
	}
	if clean.MediaType != "" && !isMediaType(clean.MediaType) {
		clean.MediaType = plainMediaType
	}
	switch {
	case len(clean.URL) > maxURLBytes, clean.Bytes < 0, clean.Blob != "" && !clean.Blob.Valid():
		return clean, false
	}
	return clean, clean.Blob != "" || clean.URL != "" || clean.Title != "" || clean.Name != ""
}

// cleanName is a name on one line.
func cleanName(s string) string {
	return events.Shorten(strings.Join(strings.Fields(events.RepairText(s)), " "), maxNameChars)
}

func cutResult(s string) string { return events.CutText(s, events.MaxResultBytes) }
