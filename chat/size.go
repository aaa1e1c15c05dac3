package chat

import (
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// What is taken for a token where nobody has counted.
const (
	charsPerToken    = 4
	tokensPerMessage = 4
	tokensPerImage   = 1000
)

// size is how many tokens the next call takes as far as is known: what the last
// one took, as its provider counted it, and an estimate of what came after. Where
// no call has shown what is shown now, all of it is estimated.
func (s State) size() int64 {
	v := s.scope()
	if m := s.f.Measured; m.Tokens > 0 {
		if behind, ok := s.behind(v, m.Step); ok {
			return m.Tokens + behind
		}
	}
	settings := s.effective(s.tip())
	return tokensOfText(systemOf(settings)) + s.shownTokens(v, settings.Model)
}

// shownTokens estimates the messages that are shown.
func (s State) shownTokens(v scope, name string) int64 {
	c := newView(name)
	v.opening(c)
	v.ending(c)
	n := tokensOf(c.messages)
	for _, t := range v.turns {
		n += t.tokens(name)
	}
	return n
}

// behind estimates what is shown behind a step's answer, if that is shown at all.
func (s State) behind(v scope, id events.StepID) (int64, bool) {
	name := s.effective(s.tip()).Model
	n := int64(0)
	for t, after := range v.backward {
		c := newView(name)
		switch {
		case t.Number == id.Turn:
			c.behind(t, id.Step)
			return n + tokensOf(c.messages), true
		case after == wholeTurn && t.Ended != "":
			n += t.tokens(name)
		default:
			c.part(t, after, maxNumber)
			n += tokensOf(c.messages)
		}
	}
	return 0, false
}

// tokensOf estimates messages.
func tokensOf(list []model.Message) int64 {
	n := int64(0)
	for i := range list {
		chars, images := int64(0), int64(0)
		count(list[i].Parts, &chars, &images)
		for _, r := range list[i].Results {
			chars += int64(utf8.RuneCountInString(r.Name))
			count(r.Parts, &chars, &images)
		}
		n += tokensPerMessage + tokensOfChars(chars) + images*tokensPerImage
	}
	return n
}

// tokensOfParts estimates what parts hold, without the message around them.
func tokensOfParts(parts []events.Part) int64 {
	chars, images := int64(0), int64(0)
	count(parts, &chars, &images)
	return tokensOfChars(chars) + images*tokensPerImage
}

// count adds what parts hold. What lies in the object store counts by its bytes.
func count(parts []events.Part, chars, images *int64) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == events.PartImage:
			*images++
		case p.Type == events.PartFile, p.Type == events.PartSource:
			*chars += int64(len(p.Name) + len(p.Title) + len(p.URL))
		case p.Blob != "":
			*chars += p.Bytes
		default:
			*chars += int64(utf8.RuneCountInString(p.Text) + utf8.RuneCountInString(p.Arguments) + len(p.JSON) + len(p.Opaque) + len(p.Name))
		}
	}
}

func tokensOfText(s string) int64 { return tokensOfChars(int64(utf8.RuneCountInString(s))) }

func tokensOfChars(n int64) int64 { return (n + charsPerToken - 1) / charsPerToken }
