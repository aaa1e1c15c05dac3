package streams_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

type everySkill = map[string][]events.Skill

func TestSkillsAreFollowedAsTheyChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	texts := map[events.Digest][]byte{}
	of := func(name, text string) events.Skill {
		d := events.DigestOf([]byte(text))
		texts[d] = []byte(text)
		return events.Skill{Name: name, Description: "d", Digest: d, Bytes: int64(len(text)), Files: []events.SkillFile{{Path: "a", Digest: d, Bytes: 1}}}
	}
	old, pdf, csv, gone := of("pdf", "old"), of("pdf", "new"), of("csv", "csv"), of("gone", "gone")
	must(s.Skills.Put(ctx, "acme", gone, texts))
	must(s.Skills.Forget(ctx, "acme", "gone"))
	must(s.Skills.Put(ctx, "acme", old, texts))
	must(s.Skills.Put(ctx, "acme", pdf, texts))
	must(s.Skills.Put(ctx, "other", old, texts))
	for subject, body := range map[string]string{"acme.damaged": "{", "acme.BAD": `{"name":"BAD"}`, "acme.empty": "{}", "alone": "{}"} {
		_, err := s.js.Publish(ctx, "$KV.SKILLS."+subject, []byte(body)) // by hand
		must(err)
	}

	told := make(chan everySkill, 10)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Skills.Watch(watching, func(all everySkill) { told <- all }) }()
	next := func(want everySkill) everySkill {
		t.Helper()
		select {
		case got := <-told:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			return got
		case <-ctx.Done():
			t.Fatal("nothing is told")
		}
		return nil
	}
	first := next(everySkill{"acme": {pdf}, "other": {old}})
	must(s.Skills.Put(ctx, "acme", csv, texts))
	next(everySkill{"acme": {csv, pdf}, "other": {old}})
	must(s.Skills.Forget(ctx, "acme", "pdf"))
	next(everySkill{"acme": {csv}, "other": {old}})
	if diff := cmp.Diff(everySkill{"acme": {pdf}, "other": {old}}, first); diff != "" {
		t.Errorf("what was told has changed since:\n%s", diff)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
	list, err := s.Skills.List(ctx, "acme")
	if diff := cmp.Diff([]events.Skill{csv}, list); err != nil || diff != "" {
		t.Errorf("listed (-want +got): %v\n%s", err, diff)
	}
	if list, err := s.Skills.List(ctx, "nobody"); err != nil || len(list) > 0 {
		t.Errorf("nobody has %v, %v", list, err)
	}
}

func TestTextsOfSkillsStay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text := []byte("Do it well.")
	d := events.DigestOf(text)
	skill := events.Skill{Name: "pdf", Description: "d", Digest: d, Bytes: int64(len(text))}
	if _, err := s.Skills.Text(ctx, d); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("before it is put: %v", err)
	}
	if err := s.Skills.Put(ctx, "acme", skill, map[events.Digest][]byte{d: text}); err != nil {
		t.Fatal(err)
	}
	if err := s.Skills.Forget(ctx, "acme", "pdf"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Skills.Text(ctx, d); err != nil || string(got) != string(text) {
		t.Errorf("forgotten, it has %q, %v", got, err)
	}
	if _, err := s.js.Publish(ctx, "$KV.SKILLS."+d.Hex(), []byte("something else")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Skills.Text(ctx, d); !errors.Is(err, protocol.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
	if err := s.Skills.Put(ctx, "acme", skill, map[events.Digest][]byte{d: text}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Skills.Text(ctx, d); err != nil || string(got) != string(text) {
		t.Errorf("put again, it has %q, %v", got, err)
	}
}
