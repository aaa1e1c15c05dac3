package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const skillsStream = bucketPrefix + SkillsBucket

// Skills are those of all tenants, in the bucket SKILLS: under "<tenant>.<skill>"
// which texts a skill has, and under its digest each text. Texts are never changed and
// never taken away, for turns that began when the skill had them. It implements the
// skills port of orchestrators.
type Skills struct{ c *connection }

// skillSubject is where a tenant's skill of that name lies.
func skillSubject(tenant, name string) string {
	return bucketSubject(SkillsBucket, tenant+"."+name)
}

// textSubject is where a text lies. No tenant's skill has a subject of so few tokens.
func textSubject(d events.Digest) string { return bucketSubject(SkillsBucket, d.Hex()) }

// Put stores a skill in place of whatever had its name, its texts first.
func (s *Skills) Put(ctx context.Context, tenant string, skill events.Skill, texts map[events.Digest][]byte) error {
	for _, d := range slices.Sorted(maps.Keys(texts)) {
		if _, err := s.Text(ctx, d); err == nil {
			continue
		} else if !errors.Is(err, protocol.ErrNotFound) && !errors.Is(err, protocol.ErrDamaged) {
			return fmt.Errorf("store skill %s: %w", skill.Name, err)
		}
		if err := s.c.keep(ctx, textSubject(d), texts[d]); err != nil {
			return translate(err, "store skill %s: its text", skill.Name)
		}
	}
	body, err := json.Marshal(skill)
	if err != nil {
		return fmt.Errorf("store skill %s: %w", skill.Name, err)
	}
	return translate(s.c.keep(ctx, skillSubject(tenant, skill.Name), body), "store skill %s", skill.Name)
}

// Forget takes a skill off the list. Its texts stay. One that is not there is no error.
func (s *Skills) Forget(ctx context.Context, tenant, name string) error {
	return translate(s.c.forget(ctx, skillSubject(tenant, name)), "forget skill %s", name)
}

// Text gives a text that hashes to d, or [protocol.ErrNotFound], or an error that wraps
// [protocol.ErrDamaged] if other bytes are stored.
func (s *Skills) Text(ctx context.Context, d events.Digest) ([]byte, error) {
	m, err := s.c.leader(ctx, skillsStream, get{Last: textSubject(d)})
	if err != nil {
		return nil, fmt.Errorf("text %s of a skill: %w", d, err)
	}
	if got := events.DigestOf(m.Body); got != d {
		return nil, fmt.Errorf("text %s of a skill: %w: what is stored has digest %s", d, protocol.ErrDamaged, got)
	}
	return m.Body, nil
}

// List gives a tenant's skills, sorted by name.
func (s *Skills) List(ctx context.Context, tenant string) ([]events.Skill, error) {
	all, err := listed(ctx, func(ctx context.Context, on func(map[string][]events.Skill) error) error {
		return s.follow(ctx, skillSubject(tenant, "*"), on)
	})
	return all[tenant], err
}

// Watch calls on with all skills, by tenant and sorted by name, first and after each
// change, until ctx ends or it may have missed one: then call it again. What on gets
// is not changed any more.
func (s *Skills) Watch(ctx context.Context, on func(map[string][]events.Skill)) error {
	return s.follow(ctx, skillSubject("*", "*"), func(all map[string][]events.Skill) error {
		on(all)
		return nil
	})
}

// follow is Watch, of some, until on fails.
func (s *Skills) follow(ctx context.Context, filter string, on func(map[string][]events.Skill) error) error {
	all := map[string][]events.Skill{}
	take := func(m *nats.Msg, _ bool) error {
		enterSkill(all, m)
		return nil
	}
	return s.c.mirror(ctx, skillsStream, filter, take, func() error { return on(maps.Clone(all)) })
}

// enterSkill changes all as a message of the bucket says; the tenant's list is another
// one then. What nobody can read changes nothing.
func enterSkill(all map[string][]events.Skill, m *nats.Msg) {
	tenant, name, ok := strings.Cut(strings.TrimPrefix(m.Subject, bucketSubject(SkillsBucket, "")), ".")
	if !ok || events.ValidateSkill(name) != nil {
		return
	}
	at, known := slices.BinarySearchFunc(all[tenant], name, func(skill events.Skill, name string) int { return strings.Compare(skill.Name, name) })
	list := slices.Clone(all[tenant])
	if m.Header.Get(bucketOperation) != "" {
		if known {
			all[tenant] = slices.Delete(list, at, at+1)
		}
		return
	}
	var skill events.Skill
	if err := json.Unmarshal(m.Data, &skill); err != nil || skill.Name != name || !skill.Digest.Valid() {
		return
	}
	if known {
		list[at] = skill
	} else {
		list = slices.Insert(list, at, skill)
	}
	all[tenant] = list
}
