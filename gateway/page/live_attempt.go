package page

import (
	"html/template"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// maxLiveBytes of an answer are shown while it comes; the whole is, when it is there.
const maxLiveBytes = 256 << 10

// kindText is the kind of a delta that is text: what a model says, and not what it
// thinks or calls.
const kindText = "text"

// attempt is an answer on its way.
type attempt struct {
	step  events.StepID
	n     int
	parts []livePart
	bytes int
	full  bool // what comes next is not shown, so that no hole is
}

type livePart struct {
	number int
	kind   string
	text   *strings.Builder
}

// add takes a piece. A later attempt takes the place of an earlier one.
func (a *attempt) add(d protocol.Delta) {
	if d.Step != a.step || d.Attempt != a.n {
		if d.Step == a.step && d.Attempt < a.n {
			return
		}
		*a = attempt{step: d.Step, n: d.Attempt}
	}
	if a.full = a.full || a.bytes+len(d.Text) > maxLiveBytes; a.full {
		return
	}
	a.bytes += len(d.Text)
	for _, p := range a.parts {
		if p.number == d.Part {
			p.text.WriteString(d.Text)
			return
		}
	}
	p := livePart{number: d.Part, kind: d.Kind, text: &strings.Builder{}}
	p.text.WriteString(d.Text)
	a.parts = append(a.parts, p)
}

// liveAnswer is an answer on its way as people see it.
type liveAnswer struct {
	Parts []liveShown
}

type liveShown struct {
	Kind string
	Text string
	HTML template.HTML
}

// shown is the answer if it is the one that is awaited: one that has come is among
// the messages, and one that was given up is nowhere.
func (a *attempt) shown(v view) liveAnswer {
	var l liveAnswer
	if v.Head.Step == "" || v.Head.Step != a.step.String() || v.Head.Attempt != a.n {
		return l
	}
	for _, p := range a.parts {
		s := liveShown{Kind: p.kind, Text: p.text.String()}
		if s.Kind == kindText {
			s.HTML = markdown(s.Text)
		}
		l.Parts = append(l.Parts, s)
	}
	return l
}

// refresh puts what tools say just now into their calls.
func (v *view) refresh(progress map[events.CallID]string) {
	for i := range v.Items {
		m := v.Items[i].Message
		if m == nil {
			continue
		}
		for j := range m.Parts {
			if c := m.Parts[j].Call; c != nil && c.Tone == "run" {
				c.Progress = progress[c.ID]
			}
		}
	}
}
