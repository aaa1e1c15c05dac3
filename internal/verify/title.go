package verify

import (
	"strings"

	"github.com/everturn/everturn/events"
)

// maxTitleWords is how many words a title may have that a model proposed.
const maxTitleWords = 8

// naming is what is known of a chat's title.
type naming struct {
	given bool  // somebody gave it one
	asked Place // where a model was first asked for one

	model, pool string // who was asked
	away        string // the newest model that turned the request away
}

// titleStep judges I6 for a step that is to bring a title: it is asked for once in a
// chat without one, where a turn is completed, of the model that this turn names; once
// more of another one if that was turned away.
func (h *history) titleStep(e events.StepRequested) {
	if e.Step.Turn != 0 {
		h.breaks(RuleSteps, Place{}, "step %s is to bring a title, inside of a turn", e.Step)
		return
	}
	if s := h.aside; s != nil && s.id == e.Step { // another attempt
		if e.Model != h.naming.model || e.Pool != h.naming.pool {
			h.breaks(RuleSteps, s.requested, "step %s asks model %q of pool %q for a title, and asked %q of %q before",
				e.Step, e.Model, e.Pool, h.naming.model, h.naming.pool)
		}
		return
	}
	last := h.ended
	switch {
	case h.naming.asked.known():
		h.breaks(RuleSteps, h.naming.asked, "step %s asks for a title, as was done before", e.Step)
	case h.naming.given:
		h.breaks(RuleSteps, Place{}, "step %s asks for a title, and the chat has one", e.Step)
	case h.turn != nil || !last.completed || last.at != h.here:
		h.breaks(RuleSteps, last.at, "step %s asks for a title where no turn is completed", e.Step)
	case e.Model != "" && e.Model == h.naming.away:
		h.breaks(RuleSteps, last.at, "step %s asks model %q for a title, which has turned that away", e.Step, e.Model)
	case last.settings != nil && (last.settings.Titler == "" || e.Model != last.settings.Titler || e.Pool != last.settings.TitlerPool):
		h.breaks(RuleSteps, last.at, "step %s asks model %q of pool %q for a title, turn %d names %q of %q",
			e.Step, e.Model, e.Pool, last.number, last.settings.Titler, last.settings.TitlerPool)
	}
	if e.Until == nil || e.Until.Step != 0 || !h.tree.has(e.Until.Turn) || h.tree.get(e.Until.Turn).parent != 0 {
		h.breaks(RuleSteps, Place{}, "step %s is to bring a title, and not of what its branch begins with", e.Step)
	}
	h.naming.asked, h.naming.model, h.naming.pool = h.here, e.Model, e.Pool
}

// titleFailed takes a step that was to bring a title: one that was turned away has
// asked nobody.
func (h *history) titleFailed(e events.StepFailed) {
	if e.TurnedAway() {
		h.naming.asked, h.naming.away = Place{}, h.naming.model
	}
}

// chatTitled judges I6 for a title that a model proposed: it is what that said, just
// now, and nobody gave the chat another one before.
func (h *history) chatTitled(e events.ChatTitled) {
	given := h.naming.given
	h.naming.given = true
	if e.Step == nil {
		return
	}
	s := h.aside
	if s == nil || s.id != *e.Step || s.purpose != events.PurposeTitle || s.phase != stepCompleted || s.closed != h.here {
		h.breaks(RuleSteps, Place{}, "the title of step %s was not proposed there just now", e.Step)
		return
	}
	words := strings.Fields(e.Title)
	switch {
	case given:
		h.breaks(RuleSteps, s.closed, "the title of step %s takes the place of one that somebody gave", s.id)
	case len(words) > maxTitleWords:
		h.breaks(RuleBounds, s.closed, "the title of step %s has %d words, at most %d may be", s.id, len(words), maxTitleWords)
	case !strings.Contains(strings.Join(strings.Fields(s.said), " "), strings.Join(words, " ")):
		h.breaks(RuleSteps, s.closed, "the title of step %s is nothing that was said there", s.id)
	case e.By != "":
		h.breaks(RuleSteps, s.closed, "the title of step %s is said to be somebody's", s.id)
	}
}
