package page

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// view is a chat as its page shows it: what the fold of the log says, in the order
// and the words that people read.
type view struct {
	Chat     string
	Head     transcript.Head
	Title    string
	Items    []item
	Now      now
	Side     side
	Waiting  []transcript.Waiting
	Running  bool
	ReadOnly bool // as it was once: nothing can be done about it
	From     int  // messages up to this number are not shown
	More     int  // how many to show where more are wanted
}

// item is a piece of the conversation. It is replaced when it changes, and the place
// it has never does.
type item struct {
	ID       string
	ReadOnly bool
	Chat     string
	Message  *message
	Mark     *transcript.Mark
	Note     *note
}

// message is something that somebody said.
type message struct {
	transcript.Message
	Parts    []part
	Siblings *siblings // of a user's, if it was said or answered in several ways
	Text     string    // of a user's, to be edited
	Plain    bool      // it is one text, which can be edited
	Tokens   string
	Cost     string
}

// siblings are the turns beside a turn.
type siblings struct {
	Place, Count   int
	Before, Behind int // the turns beside it, 0 for none
}

// note is what a turn came to, where that is not just an answer.
type note struct {
	Turn     transcript.Turn
	Kind     string // ok, bad or stopped
	Title    string
	Text     string
	Retry    bool
	Continue bool
	Last     bool
	Took     string
	Tokens   string
}

// side is what stands beside the conversation.
type side struct {
	Chat      string
	ReadOnly  bool
	Head      transcript.Head
	Tokens    []row
	Cost      string
	Artifacts []artifact
	Branched  bool
	Working   []transcript.Work
}

type row struct{ Name, Value string }

type artifact struct {
	events.Artifact
	Chat string
	Size string
}

// viewOf is a page of a chat for people.
func viewOf(t transcript.Page, progress map[events.CallID]string, readOnly bool) view {
	v := view{
		Chat: t.Chat, Head: t.Head, Title: titleOf(t.Head), Waiting: t.Waiting, ReadOnly: readOnly,
		Running: t.Status == transcript.StatusRunning || t.Status == transcript.StatusInterrupting,
	}
	b := builder{page: t, progress: progress, readOnly: readOnly, turns: make(map[int]transcript.Turn)}
	for _, turn := range t.Turns {
		b.turns[turn.Turn] = turn
	}
	v.Items = b.items()
	v.Now = nowOf(t, v.Running, readOnly)
	v.Side = sideOf(t, readOnly)
	return v
}

// titleOf is what a chat is called: one without a word has none.
func titleOf(h transcript.Head) string {
	if h.Title == "" {
		return "Untitled chat"
	}
	return h.Title
}

// builder makes the items of a view.
type builder struct {
	page     transcript.Page
	progress map[events.CallID]string
	readOnly bool
	turns    map[int]transcript.Turn
}

// items are the messages, with what stands between them.
func (b *builder) items() []item {
	var list []item
	add := func(i item) {
		i.Chat, i.ReadOnly = b.page.Chat, b.readOnly
		list = append(list, i)
	}
	marks, turns := b.page.Marks, b.page.Turns
	behind := func(n int) {
		for len(marks) > 0 && marks[0].After <= n {
			add(item{ID: fmt.Sprintf("k-%d-%s%s", marks[0].Rev, marks[0].Kind, marks[0].Skill), Mark: &marks[0]})
			marks = marks[1:]
		}
	}
	ended := func(n int) {
		for len(turns) > 0 && turns[0].Last < n {
			if told := b.note(turns[0], len(turns) == 1); told != nil {
				add(item{ID: fmt.Sprintf("t-%d", turns[0].Turn), Note: told})
			}
			turns = turns[1:]
		}
	}
	for i := range b.page.Messages {
		m := &b.page.Messages[i]
		ended(m.N)
		behind(m.N - 1)
		add(item{ID: fmt.Sprintf("m-%d", m.N), Message: b.message(m)})
	}
	ended(b.page.MessageCount + 1)
	behind(b.page.MessageCount)
	return list
}

func (b *builder) message(m *transcript.Message) *message {
	shown := &message{Message: *m}
	for i := range m.Parts {
		shown.Parts = append(shown.Parts, b.part(&m.Parts[i], m.Role))
	}
	if m.Role == transcript.RoleUser {
		shown.Siblings = siblingsOf(b.turns[m.Turn], m.N)
		shown.Plain = len(m.Parts) == 1 && m.Parts[0].Type == events.PartText && !m.Parts[0].Truncated
		if shown.Plain {
			shown.Text = m.Parts[0].Text
		}
	}
	if m.Usage != nil {
		shown.Tokens = tokens(m.Usage.Total())
		shown.Cost = cost(m.CostMicros)
	}
	return shown
}

// siblingsOf says what stands beside a turn, above the first of its messages.
func siblingsOf(t transcript.Turn, n int) *siblings {
	if len(t.Siblings) < 2 || t.First != n {
		return nil
	}
	s := siblings{Count: len(t.Siblings)}
	for i, turn := range t.Siblings {
		if turn != t.Turn {
			continue
		}
		s.Place = i + 1
		if i > 0 {
			s.Before = t.Siblings[i-1]
		}
		if i+1 < len(t.Siblings) {
			s.Behind = t.Siblings[i+1]
		}
	}
	return &s
}

// note is what is told about a turn that has ended; nil while it runs.
func (b *builder) note(t transcript.Turn, last bool) *note {
	n := &note{Turn: t, Last: last, Kind: "ok"}
	switch t.Status {
	case transcript.TurnRunning:
		return nil
	case transcript.TurnFailed:
		n.Kind, n.Title, n.Text, n.Retry = "bad", failure(t.Class), t.Message, true
	case transcript.TurnInterrupted:
		n.Kind, n.Title, n.Text, n.Continue = "stopped", "Stopped", t.Reason, true
	case transcript.TurnCompleted:
		switch t.Finish {
		case events.FinishMaxSteps:
			n.Kind, n.Title, n.Text, n.Continue = "stopped", "Paused", "The assistant has taken as many steps as it may in one turn.", true
		case events.FinishLength:
			n.Kind, n.Title, n.Text, n.Continue = "stopped", "Cut short", "The answer reached the model's limit of length.", true
		case events.FinishRefused:
			n.Kind, n.Title, n.Text = "stopped", "Declined", "The model, or a filter, declined to answer."
		case events.FinishComplete, events.FinishStopAfterTool:
		}
	}
	n.Tokens = tokens(t.Totals.Usage.Total())
	if t.Ended > t.Started {
		n.Took = took(t.Ended.Sub(t.Started))
	}
	return n
}

// failure names why a turn failed.
func failure(c events.ErrorClass) string {
	switch c {
	case events.ClassOverloaded:
		return "The model is overloaded"
	case events.ClassRateLimit:
		return "The model is asked too often"
	case events.ClassQuota:
		return "The model's quota is used up"
	case events.ClassAuth:
		return "The model did not accept our key"
	case events.ClassContextTooLarge:
		return "The conversation is too long for the model"
	case events.ClassTimeout, events.ClassStreamSilence:
		return "The model did not answer in time"
	default:
		return "The assistant could not answer"
	}
}

func sideOf(t transcript.Page, readOnly bool) side {
	s := side{Chat: t.Chat, Head: t.Head, ReadOnly: readOnly}
	var used events.Usage
	sum, known := int64(0), true
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Usage != nil {
			used = used.Plus(*m.Usage)
			if m.CostMicros == nil {
				known = false
			} else {
				sum += *m.CostMicros
			}
		}
		for j := range m.Parts {
			c := m.Parts[j].Call
			if c == nil {
				continue
			}
			for _, a := range c.Artifacts {
				s.Artifacts = append(s.Artifacts, artifact{Artifact: a, Chat: t.Chat, Size: size(a.Bytes)})
			}
			if c.Work != nil {
				s.Working = append(s.Working, *c.Work)
			}
		}
	}
	for _, turn := range t.Turns {
		s.Branched = s.Branched || len(turn.Siblings) > 1
	}
	s.Tokens = []row{{"Read", tokens(used.Input)}, {"From cache", tokens(used.CacheRead)}, {"Written", tokens(used.Output)}, {"Reasoning", tokens(used.Reasoning)}}
	switch {
	case used.Total() == 0:
		s.Cost = "nothing yet"
	case known:
		s.Cost = money(sum)
	case sum > 0:
		s.Cost = "at least " + money(sum)
	default:
		s.Cost = "unknown"
	}
	return s
}

// tokens is a number that people can read.
func tokens(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%d k", n/1_000)
	case n >= 1_000:
		return fmt.Sprintf("%d,%03d", n/1_000, n%1_000)
	}
	return fmt.Sprint(n)
}

// cost is what something cost; nothing is said where nobody knows.
func cost(micros *int64) string {
	if micros == nil {
		return ""
	}
	return money(*micros)
}

func money(micros int64) string {
	if micros > 0 && micros < 10_000 {
		return fmt.Sprintf("$%.4f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// took is how long something took.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
