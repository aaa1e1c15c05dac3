package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"text/tabwriter"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/skills"
	"github.com/everturn/everturn/streams"
)

// skillsCommand is `everturn skills`.
type skillsCommand struct {
	List   skillsList   `cmd:"" default:"withargs" help:"Show the skills of the tenant."`
	Show   skillsShow   `cmd:"" help:"Print a skill, or a file of it, as models read it."`
	Put    skillsPut    `cmd:"" help:"Keep the skills of folders, in place of those of the same names."`
	Forget skillsForget `cmd:"" help:"Take a skill off the list. Chats that have read it keep what they read."`
}

// skills calls do with what keeps the skills, and with those there are.
func (r *remote) skills(s *surroundings, do func(context.Context, *streams.Skills, []events.Skill) error) error {
	return r.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		return withSkills(ctx, nc, streams.Options{Domain: r.JSDomain}, string(r.Tenant), do)
	})
}

func withSkills(
	ctx context.Context, nc *nats.Conn, o streams.Options, tenant string, do func(context.Context, *streams.Skills, []events.Skill) error,
) error {
	reader, err := streams.OpenReader(ctx, nc, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	all, err := reader.Skills.List(ctx, tenant)
	if err != nil {
		return fmt.Errorf("list the skills: %w", err)
	}
	return do(ctx, reader.Skills, all)
}

type skillsList struct {
	remote

	JSON bool `help:"Print each skill as one JSON object."`
}

// Run implements the command.
func (c *skillsList) Run(s *surroundings) error {
	return c.skills(s, func(_ context.Context, _ *streams.Skills, all []events.Skill) error {
		out := json.NewEncoder(s.stdout)
		table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		if !c.JSON {
			fmt.Fprintln(table, "NAME\tBYTES\tFILES\tDESCRIPTION")
		}
		for _, skill := range all {
			if !c.JSON {
				fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", skill.Name, skill.Bytes, len(skill.Files), shorten(skill.Description))
			} else if err := out.Encode(skill); err != nil {
				return err
			}
		}
		return table.Flush()
	})
}

type skillsShow struct {
	remote

	Name string `arg:"" help:"Which skill."`
	Path string `arg:"" optional:"" help:"Which file of it. Default: its SKILL.md."`
	JSON bool   `help:"Print what there is of the skill as one JSON object, without any text."`
}

// Run implements the command.
func (c *skillsShow) Run(s *surroundings) error {
	return c.skills(s, func(ctx context.Context, kept *streams.Skills, all []events.Skill) error {
		skill, err := skillNamed(all, c.Name)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(skill)
		}
		digest := skill.Digest
		if c.Path != "" && c.Path != chat.SkillFileName {
			at := slices.IndexFunc(skill.Files, func(f events.SkillFile) bool { return f.Path == c.Path })
			switch {
			case at < 0:
				return cli.Exit(cli.ExitNotFound, fmt.Errorf("skill %s has no file %.200q; `everturn skills show %s` names those it has", c.Name, c.Path, c.Name))
			case skill.Files[at].Digest == "":
				return cli.Exit(cli.ExitUsage, fmt.Errorf("%s of skill %s is no text, and is not kept", c.Path, c.Name))
			}
			digest = skill.Files[at].Digest
		}
		text, err := kept.Text(ctx, digest)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.stdout, string(text))
		return err
	})
}

// skillNamed is the skill of that name.
func skillNamed(all []events.Skill, name string) (events.Skill, error) {
	at := slices.IndexFunc(all, func(skill events.Skill) bool { return skill.Name == name })
	if at < 0 {
		return events.Skill{}, cli.Exit(cli.ExitNotFound, fmt.Errorf("there is no skill %.80q; `everturn skills` shows those there are", name))
	}
	return all[at], nil
}

type skillsPut struct {
	remote

	Folders []string `arg:"" type:"existingdir" placeholder:"DIR" help:"A folder with a SKILL.md, or one with such folders in it."`
	JSON    bool     `help:"Print what became of each skill as one JSON object."`
}

// Run implements the command. All folders are read before anything is kept; skills that
// are in none of them stay as they are.
func (c *skillsPut) Run(s *surroundings) error {
	list, err := loadSkills(s, c.Folders...)
	if err != nil {
		return err
	}
	return c.skills(s, func(ctx context.Context, kept *streams.Skills, all []events.Skill) error {
		return putSkills(ctx, kept, string(c.Tenant), all, list, func(name, action string) error { return s.skillBecame(name, action, c.JSON) })
	})
}

// loadSkills reads folders, and tells people what their authors should know.
func loadSkills(s *surroundings, folders ...string) ([]skills.Skill, error) {
	var list []skills.Skill
	var wrong []error
	for _, folder := range folders {
		read, err := skills.Load(folder)
		list, wrong = append(list, read...), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, cli.Exit(cli.ExitUsage, err)
	}
	for i, skill := range list {
		if slices.ContainsFunc(list[:i], func(other skills.Skill) bool { return other.Name == skill.Name }) {
			return nil, cli.Exit(cli.ExitUsage, fmt.Errorf("skills: two folders are called %s", skill.Name))
		}
		for _, note := range skill.Notes {
			fmt.Fprintf(s.stderr, "everturn: skill %s: %s\n", skill.Name, note)
		}
	}
	return list, nil
}

// putSkills keeps a tenant's skills, of which there are some already, unless there would
// be more than a turn has room for.
func putSkills(
	ctx context.Context, kept *streams.Skills, tenant string, all []events.Skill, list []skills.Skill, became func(name, action string) error,
) error {
	merged := slices.Clone(all)
	for _, skill := range list {
		merged = append(slices.DeleteFunc(merged, func(other events.Skill) bool { return other.Name == skill.Name }), skill.Skill)
	}
	bytes := 0
	for _, skill := range merged {
		bytes += chat.SkillBytes(skill)
	}
	if len(merged) > events.MaxSkills || bytes > events.MaxSkillsBytes {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("tenant %s would have %d skills, whose names, descriptions and files take %d bytes: at most %d and %d are allowed; forget some",
			tenant, len(merged), bytes, events.MaxSkills, events.MaxSkillsBytes))
	}
	for _, skill := range list {
		action := "created"
		if old, err := skillNamed(all, skill.Name); err == nil {
			action = "changed"
			if reflect.DeepEqual(old, skill.Skill) {
				action = "unchanged"
			}
		}
		if err := kept.Put(ctx, tenant, skill.Skill, skill.Texts); err != nil { // also what is unchanged: a text may be missing
			return err
		}
		if err := became(skill.Name, action); err != nil {
			return err
		}
	}
	return nil
}

type skillsForget struct {
	remote

	Name string `arg:"" help:"Which skill."`
	JSON bool   `help:"Print what became of it as one JSON object."`
}

// Run implements the command.
func (c *skillsForget) Run(s *surroundings) error {
	return c.skills(s, func(ctx context.Context, kept *streams.Skills, all []events.Skill) error {
		if _, err := skillNamed(all, c.Name); err != nil {
			return err
		}
		if err := kept.Forget(ctx, string(c.Tenant), c.Name); err != nil {
			return err
		}
		return s.skillBecame(c.Name, "forgotten", c.JSON)
	})
}

// skillBecame tells what became of a skill.
func (s *surroundings) skillBecame(name, action string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.stdout).Encode(struct {
			Name   string `json:"name"`
			Action string `json:"action"`
		}{name, action})
	}
	_, err := fmt.Fprintf(s.stdout, "skill %s: %s\n", name, action)
	return err
}

// skillFlags are those of a process that brings skills along.
type skillFlags struct {
	Skills string `type:"existingdir" env:"EVERTURN_SKILLS" placeholder:"DIR" help:"A folder of skills to keep at the start, as skills put does; see docs/SKILLS.md. Default: those that are kept already."`
}

// load reads the folder, if one is named.
func (f skillFlags) load(s *surroundings) ([]skills.Skill, error) {
	if f.Skills == "" {
		return nil, nil
	}
	return loadSkills(s, f.Skills)
}

// keepSkills keeps skills in a server of this process, for its one tenant.
func keepSkills(ctx context.Context, server *embedded.Server, list []skills.Skill) error {
	if len(list) == 0 {
		return nil
	}
	nc, err := server.Connect("skills")
	if err != nil {
		return err
	}
	defer nc.Close()
	return withSkills(ctx, nc, streams.Options{}, client.DefaultTenant, func(ctx context.Context, kept *streams.Skills, all []events.Skill) error {
		return putSkills(ctx, kept, client.DefaultTenant, all, list, func(string, string) error { return nil })
	})
}
