package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

const (
	blobTimeout = readTimeout     // for one piece of content
	fillTime    = 2 * time.Minute // for one request
)

// fill puts content and descriptions in the place of their digests; that of images
// if the model is to see them. The error is a [*model.Error] if the attempt ends by
// it; [errStopping] if it was broken off.
func (o *Orchestrator) fill(ctx context.Context, k events.Key, r *model.Request, sees bool) error {
	p := patience{until: time.Now().Add(fillTime)}
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Schema != nil {
			continue // the client's own: the chat itself says what it is
		}
		err := o.patiently(ctx, p, func() error {
			m, err := o.manifest(ctx, t.Manifest)
			if err == nil {
				t.Description, t.Schema = m.Description, m.Schema
			}
			return err
		})
		if err != nil {
			return missing("the manifest of tool "+t.Name, err)
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if err := o.attach(ctx, k, &m.Parts, p); err != nil {
			return err
		}
		for j := range m.Results {
			parts := m.Results[j].Parts
			if err := o.attach(ctx, k, &parts, p); err != nil {
				return err
			}
			if &parts[0] != &m.Results[j].Parts[0] { // filled: the message's own list, too
				m.Results = slices.Clone(m.Results)
				m.Results[j].Parts = parts
			}
		}
	}
	if !sees {
		return nil
	}
	return o.show(ctx, k, r, p)
}

// attach puts stored content into a copy of the parts, if there is any to put:
// what a prompt is made of is shared with the chat's state.
func (o *Orchestrator) attach(ctx context.Context, k events.Key, list *[]events.Part, p patience) error {
	if !slices.ContainsFunc(*list, isStored) {
		return nil
	}
	parts := slices.Clone(*list)
	*list = parts
	for i := range parts {
		part := &parts[i]
		if !isStored(*part) {
			continue
		}
		err := o.patiently(ctx, p, func() error {
			content, err := o.text(ctx, k, part.Blob)
			if err == nil {
				*part = part.Attach(content)
			}
			return err
		})
		if err != nil {
			return missing("stored content", err)
		}
		if part.Type == events.PartCall && !events.IsObject(part.Arguments) {
			part.Arguments = "{}" // what no provider takes back; the result tells what was wrong
		}
	}
	return nil
}

// isStored reports whether a part's text lies in the object store. Images and
// files are named by digest on purpose.
func isStored(p events.Part) bool {
	return p.Blob != "" && p.Type != events.PartImage && p.Type != events.PartFile && p.Type != events.PartSource
}

func (o *Orchestrator) blob(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	return o.bus.Blobs.Get(ctx, k, d)
}

// patiently does again what fails for a reason that may pass.
func (o *Orchestrator) patiently(ctx context.Context, p patience, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if err == nil || errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
			return err
		}
		if !o.again(ctx, p, n) {
			if ctx.Err() != nil || o.isStopping() {
				return errStopping
			}
			return err
		}
	}
}

// missing is the failure of an attempt whose prompt cannot be made. What is
// gone or damaged stays so; what could not be read may be readable for the next attempt.
func missing(what string, err error) error {
	switch {
	case errors.Is(err, errStopping):
		return err
	case errors.Is(err, protocol.ErrNotFound):
		return &model.Error{Class: events.ClassInvalidRequest, Message: what + " is missing", Err: err}
	case errors.Is(err, protocol.ErrDamaged):
		return &model.Error{Class: events.ClassInvalidRequest, Message: what + " is damaged", Err: err}
	}
	return &model.Error{Class: events.ClassInternal, Message: what + " cannot be read", Err: err}
}

// schemasOf are the schemas of the tools that an answer calls. One that is
// missing is the call's trouble, not the answer's.
func (o *Orchestrator) schemasOf(ctx context.Context, s chat.State, parts []events.Part) map[events.Digest]*chat.Schema {
	settings, _ := s.Effective()
	schemas := make(map[events.Digest]*chat.Schema)
	for _, p := range parts {
		if p.Type != events.PartCall {
			continue
		}
		for _, t := range settings.Tools {
			if t.Name != p.Name || t.Client || schemas[t.Manifest] != nil {
				continue
			}
			m, err := o.manifest(ctx, t.Manifest)
			if err == nil {
				schemas[t.Manifest], err = m.schema()
			}
			if err != nil {
				delete(schemas, t.Manifest)
				o.log.Error("schema not usable", "tool", t.Name, "manifest", t.Manifest, "error", err)
			}
		}
	}
	return schemas
}
