package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/model"
)

// promptCommand is `everturn prompt`.
type promptCommand struct {
	history

	Chat    chatName `arg:"" help:"Which chat."`
	Step    stepName `arg:"" help:"Which step, such as 3.2."`
	Attempt int      `help:"Which attempt. Default: the last."`
	Full    bool     `help:"Put large content, and what the tools' manifests say, in the place of their digests."`
	JSON    bool     `help:"Print one JSON object, with the digest that was recorded and today's."`
}

// stepName is a step.
type stepName events.StepID

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *stepName) UnmarshalText(text []byte) error { return (*events.StepID)(n).UnmarshalText(text) }

// shown is what a model was shown for a step.
type shown struct {
	Tenant   string        `json:"tenant"`
	Chat     string        `json:"chat"`
	Step     events.StepID `json:"step"`
	Attempt  int           `json:"attempt"`
	Rev      uint64        `json:"rev"`
	Recorded events.Digest `json:"recorded"`
	Digest   events.Digest `json:"digest"`
	Same     bool          `json:"same"`
	Bytes    int           `json:"bytes"`
	Request  request       `json:"request"`
}

// request is a [model.Request] with what its canonical form has by digest only.
type request struct {
	Model           string          `json:"model"`
	System          string          `json:"system,omitempty"`
	Tools           []requestTool   `json:"tools,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
	Messages        []model.Message `json:"messages"`
}

type requestTool struct {
	Name        string          `json:"name"`
	Manifest    events.Digest   `json:"manifest"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Run implements the command.
func (c *promptCommand) Run(s *surroundings) error {
	return c.commits(s, c.Chat, func(commits []events.Commit, a archive) error {
		until, asked, err := replay.Asked(commits, events.StepID(c.Step), c.Attempt)
		if err != nil {
			return err
		}
		state, err := replay.Fold(until, a.blob)
		if err != nil {
			return cli.Exit(cli.ExitIntegrity, err)
		}
		r := chat.PromptFor(state, asked.Step)
		canonical := r.Canonical()
		p := shown{
			Tenant: state.Key().Tenant, Chat: state.Key().Chat, Step: asked.Step, Attempt: asked.Attempt, Rev: state.Rev(),
			Recorded: asked.Prompt, Digest: events.DigestOf(canonical), Bytes: len(canonical),
		}
		p.Same = p.Recorded == p.Digest
		if c.Full {
			if err := fill(&r, state.Key(), a); err != nil {
				return err
			}
		}
		p.Request = requestOf(r)
		return c.show(s, p)
	})
}

// show prints the request, and says whether it is the one that was recorded.
func (c *promptCommand) show(s *surroundings, p shown) error {
	out := json.NewEncoder(s.stdout)
	out.SetEscapeHTML(false)
	var err error
	if c.JSON {
		err = out.Encode(p)
	} else {
		out.SetIndent("", "  ")
		err = out.Encode(p.Request)
		fmt.Fprintf(s.stderr, "step %s, attempt %d, rev %d: %d bytes, %s\n", p.Step, p.Attempt, p.Rev, p.Bytes, p.Digest)
	}
	if err != nil || p.Same {
		return err
	}
	return cli.Exit(cli.ExitIntegrity, fmt.Errorf("the model was shown %s; by the rules of today it would be %s", p.Recorded, p.Digest))
}

func requestOf(r model.Request) request {
	shown := request{Model: r.Model, System: r.System, MaxOutputTokens: r.MaxOutputTokens, Messages: r.Messages}
	for _, t := range r.Tools {
		shown.Tools = append(shown.Tools, requestTool{t.Name, t.Manifest, t.Description, t.Schema})
	}
	return shown
}

// fill puts content and descriptions in the place of their digests. The lists in
// r belong to the chat's state and are copied.
func fill(r *model.Request, k events.Key, a archive) error {
	if a.manifest == nil {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("--full: a file has nothing beside the logs; ask a server"))
	}
	for i := range r.Tools {
		m, err := a.manifest(r.Tools[i].Manifest)
		if err != nil {
			return fmt.Errorf("tool %s: %w", r.Tools[i].Name, err)
		}
		r.Tools[i].Description, r.Tools[i].Schema = m.Description, m.Schema
	}
	attach := func(list []events.Part) ([]events.Part, error) {
		parts := slices.Clone(list)
		for i, p := range parts {
			if p.Blob == "" || p.Attach([]byte("{}")).Blob != "" { // images and files go by their digest
				continue
			}
			content, err := a.blob(k, p.Blob)
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
	for i := range r.Messages {
		m := &r.Messages[i]
		var err error
		if m.Parts, err = attach(m.Parts); err != nil {
			return err
		}
		m.Results = slices.Clone(m.Results)
		for j := range m.Results {
			if m.Results[j].Parts, err = attach(m.Results[j].Parts); err != nil {
				return err
			}
		}
	}
	return nil
}
