package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// fakeSkills are those of the tests' tenant, told when there is somebody to tell.
type fakeSkills struct {
	list  []events.Skill
	texts map[events.Digest]string
	wrong error // of telling
}

func (s fakeSkills) Watch(ctx context.Context, on func(map[string][]events.Skill)) error {
	if s.wrong != nil {
		return s.wrong
	}
	on(map[string][]events.Skill{tenant: s.list})
	<-ctx.Done()
	return ctx.Err()
}

func (s fakeSkills) Text(_ context.Context, d events.Digest) ([]byte, error) {
	if text, ok := s.texts[d]; ok {
		return []byte(text), nil
	}
	return nil, protocol.ErrNotFound
}

const skillText = "Fill it in."

func onePDF() fakeSkills {
	d := events.DigestOf([]byte(skillText))
	return fakeSkills{
		list:  []events.Skill{{Name: "pdf", Description: "Forms.", Digest: d, Bytes: int64(len(skillText))}},
		texts: map[events.Digest]string{d: skillText},
	}
}

// reads is a model that says in one answer how often it reads a text.
func reads(text string) model.Model {
	return asModel(func(r model.Request) *model.Answer {
		said := "I do not read it"
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if strings.Contains(p.Text, text) {
					said = "I read it"
				}
			}
		}
		return &model.Answer{Parts: []events.Part{events.Text(said)}, Stop: events.StopEnd}
	})
}

func (r *rig) lastAnswer() string {
	r.Helper()
	list := eventsOf[events.StepCompleted](r, chatA)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].Parts[0].Text
}

func TestS12_AChatHasItsOwnOfTheSkillsItRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		kept := onePDF()
		o := r.start(reads(skillText), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Skills = kept })
		r.do(chatA, create())
		r.do(chatA, send("with $pdf"))
		r.ended(1)
		if said := r.lastAnswer(); said != "I read it" {
			t.Errorf("the model says %q", said)
		}
		if content, err := r.server.Blob(chatA, kept.list[0].Digest); err != nil || string(content) != skillText {
			t.Errorf("the chat has %q, %v", content, err)
		}
		o.process.Kill()
		<-o.ended
		r.start(reads(skillText), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Skills = fakeSkills{} }) // nobody keeps it any more
		r.do(chatA, send("and now?"))
		r.ended(2)
		if said := r.lastAnswer(); said != "I read it" {
			t.Errorf("when nobody keeps it any more the model says %q", said)
		}
	})
}

// A text that is gone holds up no commit. The turn says what is missing, and goes on
// as soon as somebody has put the skill again.
func TestS12_ATextOfASkillThatIsGoneIsSaidToBe(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		kept := onePDF()
		gone := kept
		gone.texts = nil
		o := r.start(reads(skillText), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Skills = gone })
		r.do(chatA, create())
		r.do(chatA, send("with $pdf"))
		r.eventually("the turn has failed", func() bool { return len(eventsOf[events.TurnFailed](r, chatA)) == 1 })
		if e := eventsOf[events.TurnFailed](r, chatA)[0]; e.Class != events.ClassInvalidRequest || !strings.Contains(e.Message, "stored content is missing") {
			t.Errorf("it failed with %+v", e)
		}
		o.process.Kill()
		<-o.ended
		r.start(reads(skillText), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Skills = kept })
		r.do(chatA, protocol.Retry{V: protocol.Version})
		r.ended(1)
		if said := r.lastAnswer(); said != "I read it" {
			t.Errorf("the model says %q", said)
		}
	})
}

func TestS12_WhoIsNotToldOfSkillsGoesOnWithoutAfterAWhile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		kept := onePDF()
		kept.wrong = errors.New("nobody lets us")
		began := time.Now()
		r.start(reads(skillText), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Skills = kept })
		r.do(chatA, create())
		if took := time.Since(began); took < 10*time.Second || took > 15*time.Second {
			t.Errorf("the first command was decided after %s", took)
		}
		r.do(chatA, send("with $pdf"))
		r.ended(1)
		if said := r.lastAnswer(); said != "I do not read it" {
			t.Errorf("the model says %q", said)
		}
	})
}
