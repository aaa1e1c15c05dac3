package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// modelReviews judges calls.
const modelReviews = "reviews"

// reviewsOnceIn is how seldom a run has a tool whose calls a model judges.
const reviewsOnceIn = 4

// reviews reports whether calls of one of the run's tools are judged by a model.
func (p plan) reviews() bool { return draws(p.seed, "reviews").IntN(reviewsOnceIn) == 0 }

// judged gives the chats of such a run a model that judges, but for some. People
// answer sooner there, or not at all. What is drawn for it changes nothing of what
// is said.
func judged(p plan, all []command) []command {
	if !p.reviews() {
		return all
	}
	r := draws(p.seed, "reviewers")
	return createdWith(all, func(create *protocol.Create) {
		create.Settings.Reviewer = pick(r, modelReviews, modelReviews, modelReviews, events.ReviewerNone, "nobody")
		limits := events.Limits{}
		if create.Settings.Limits != nil {
			limits = *create.Settings.Limits
		}
		limits.ApprovalMS = pick(r, int64(2_000), 10_000, 20_000)
		create.Settings.Limits = &limits
	})
}

// verdict is what the model says that judges: mostly what it should.
func (p *provider) verdict(draw *rand.Rand, r model.Request) *model.Answer {
	a := &model.Answer{
		Stop: events.StopEnd, RawStop: "stop", Usage: events.Usage{Input: int64(draw.IntN(100)), Output: int64(draw.IntN(30))},
		Provider: events.Provider{Name: "simulated", Model: r.Model},
	}
	text := pick(draw, "approve: fine", "approve: fine", "approve: fine", "ask: it has effects", "ask: it has effects", "perhaps", "approve")
	switch draw.IntN(12) {
	case 0:
		return a // nothing at all
	case 1:
		a.Stop = events.StopLength
	case 2:
		text = fmt.Sprintf("%s\n%s", text, text)
	}
	a.Parts = []events.Part{events.Text(text)}
	return a
}
