package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Shown is what a model was shown for a step. Recorded is the digest of it in the log,
// Digest what the rules of today make of the log, Bytes the size of the latter.
type Shown struct {
	Tenant   string        `json:"tenant"`
	Chat     string        `json:"chat"`
	Step     events.StepID `json:"step"`
	Attempt  int           `json:"attempt"`
	Rev      uint64        `json:"rev"`
	Recorded events.Digest `json:"recorded"`
	Digest   events.Digest `json:"digest"`
	Same     bool          `json:"same"`
	Bytes    int           `json:"bytes"`
	Request  Request       `json:"request"`
}

// Request is a [model.Request] with what its canonical form has by digest only.
type Request struct {
	Model           string          `json:"model"`
	System          string          `json:"system,omitempty"`
	Tools           []RequestTool   `json:"tools,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
	Messages        []model.Message `json:"messages"`
}

// RequestTool is a tool that a model was offered.
type RequestTool struct {
	Name        string          `json:"name"`
	Manifest    events.Digest   `json:"manifest"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Show is what the model was shown for a step that was requested in the last commit of
// the state. Large content, and what manifests say, stands there by digest unless it is
// to be filled in.
func Show(s chat.State, asked events.StepRequested, fill *Filling) (Shown, error) {
	r := chat.PromptFor(s, asked.Step)
	canonical := r.Canonical()
	shown := Shown{
		Tenant: s.Key().Tenant, Chat: s.Key().Chat, Step: asked.Step, Attempt: asked.Attempt, Rev: s.Rev(),
		Recorded: asked.Prompt, Digest: events.DigestOf(canonical), Bytes: len(canonical),
	}
	shown.Same = shown.Recorded == shown.Digest
	if fill != nil {
		if err := fill.in(&r); err != nil {
			return shown, err
		}
	}
	shown.Request = Request{Model: r.Model, System: r.System, MaxOutputTokens: r.MaxOutputTokens, Messages: r.Messages}
	for _, t := range r.Tools {
		shown.Request.Tools = append(shown.Request.Tools, RequestTool{t.Name, t.Manifest, t.Description, t.Schema})
	}
	return shown, nil
}

// ErrLeftOut is for a Filling that has enough: what it is asked for stays a digest.
var ErrLeftOut = errors.New("left out")

// Filling gives what stands in a request by its digest only.
type Filling struct {
	Content  func(events.Digest) ([]byte, error)
	Manifest func(events.Digest) (protocol.Manifest, error)
}

// in puts content and descriptions in the place of their digests. The lists in
// r belong to the chat's state and are copied.
func (f *Filling) in(r *model.Request) error {
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		m, err := f.Manifest(r.Tools[i].Manifest)
		if errors.Is(err, ErrLeftOut) {
			continue
		}
		if err != nil {
			return fmt.Errorf("tool %s: %w", r.Tools[i].Name, err)
		}
		r.Tools[i].Description, r.Tools[i].Schema = m.Description, m.Schema
	}
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		m := &r.Messages[i]
		var err error
		if m.Parts, err = f.attach(m.Parts); err != nil {
			return err
		}
		m.Results = slices.Clone(m.Results)
		for j := range m.Results {
			if m.Results[j].Parts, err = f.attach(m.Results[j].Parts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Filling) attach(list []events.Part) ([]events.Part, error) {
	parts := slices.Clone(list)
	for i, p := range parts {
		if p.Blob == "" || p.Attach([]byte("{}")).Blob != "" { // images and files go by their digest
			continue
		}
		content, err := f.Content(p.Blob)
		if errors.Is(err, ErrLeftOut) {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts[i] = p.Attach(content)
		if p.Type == events.PartCall && !events.IsObject(parts[i].Arguments) {
			parts[i].Arguments = "{}" // as it was sent: no provider takes anything else back
		}
	}
	return parts, nil
}
