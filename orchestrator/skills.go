package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// skillsPatience is how long an orchestrator that starts waits to be told which skills
// there are. After that turns start without: they are no reason to answer nobody.
const skillsPatience = 10 * time.Second

// skills are those that operators keep, as the store last told them.
type skills struct {
	first chan struct{} // closed when they have been told

	mu    sync.Mutex
	known bool
	all   map[string][]events.Skill // by tenant; replaced, never written to
}

func newSkills() *skills { return &skills{first: make(chan struct{})} }

// watchSkills keeps the skills current until ctx ends.
func (o *Orchestrator) watchSkills(ctx context.Context) error {
	return o.bus.Skills.Watch(ctx, o.skills.set)
}

func (s *skills) set(all map[string][]events.Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		s.known = true
		close(s.first)
	}
	s.all = all
}

// of gives those of a tenant, sorted by name. They are shared: only to be read.
func (s *skills) of(tenant string) []events.Skill {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[tenant]
}

// skillsKnown waits for the first list of skills, for a while; false means that the
// orchestrator is to stop.
func (o *Orchestrator) skillsKnown() bool {
	if o.bus.Skills == nil {
		return !o.isStopping()
	}
	timer := time.NewTimer(skillsPatience)
	defer timer.Stop()
	select {
	case <-o.skills.first:
	case <-timer.C:
		o.log.Error("it is not known which skills there are: turns start without", "waited", skillsPatience)
	case <-o.stopping:
	}
	return !o.isStopping()
}

// storeShared gives the chat its own of the texts of skills that the commit names by
// digest. One that is gone is no reason not to commit: [Orchestrator.text] looks for it
// again when it is to be shown.
func (o *Orchestrator) storeShared(ctx context.Context, w proposal, p patience) error {
	if o.bus.Skills == nil {
		return nil
	}
	for _, d := range w.decision.Shared {
		for n := 0; ; n++ {
			err := o.copySkill(ctx, w.key, d)
			if err == nil {
				break
			}
			if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
				o.log.Error("a text of a skill cannot be read", "chat", w.key, "text", d, "error", err)
				break
			}
			if !o.again(ctx, p, n) {
				return err
			}
		}
	}
	return nil
}

func (o *Orchestrator) copySkill(ctx context.Context, k events.Key, d events.Digest) error {
	content, err := o.skillText(ctx, d)
	if err != nil {
		return err
	}
	try, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	return o.bus.Blobs.Put(try, k, d, content)
}

func (o *Orchestrator) skillText(ctx context.Context, d events.Digest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	return o.bus.Skills.Text(ctx, d)
}

// text is stored content of a chat. What the chat has not may be of a skill that it
// could not be given when it was named.
func (o *Orchestrator) text(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	content, err := o.blob(ctx, k, d)
	if errors.Is(err, protocol.ErrNotFound) && o.bus.Skills != nil {
		if content, again := o.skillText(ctx, d); again == nil {
			return content, nil
		}
	}
	return content, err
}
