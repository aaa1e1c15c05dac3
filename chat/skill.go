package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// ToolViewSkill is the tool by which a model reads a skill.
const ToolViewSkill = "view_skill"

const viewSkillDescription = `Read a skill: instructions for a particular task, which the user's installation keeps. ` +
	`The skills there are stand in the system prompt. Without a path it is the skill's own text; with one, a file that this text names.`

const viewSkillSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","minLength":1,"description":"The skill."},` +
	`"path":{"type":"string","description":"A file of the skill; left out, the skill itself."}},` +
	`"required":["name"]}`

// viewSkill only shows what the turn was offered, so nobody is asked about it. It is
// there exactly when skills are, see [offeredTools].
func viewSkill() builtIn {
	return builtIn{
		manifest: protocol.Manifest{
			Name: ToolViewSkill, Description: viewSkillDescription, Schema: json.RawMessage(viewSkillSchema),
			ReadOnly: true, Policy: events.PolicyAllow,
		},
		offered:  func(events.Settings) bool { return false },
		planning: true,
		begin:    showSkill,
	}
}

// showSkill gives what a call asks to read of a skill, by its digest, or says what is
// wrong with its arguments.
func showSkill(b *beginning, id events.CallID, arguments string) ([]events.Event, string) {
	var asked struct {
		Name string `json:"name"`
		Path string `json:"path"`
	}
	if err := json.Unmarshal([]byte(arguments), &asked); err != nil {
		return nil, "The arguments cannot be read: " + err.Error()
	}
	asked.Name = strings.TrimPrefix(strings.TrimSpace(asked.Name), skillMark)
	skill, ok := findSkill(b.skills, asked.Name)
	if !ok {
		return nil, fmt.Sprintf("There is no skill named %.80q. There are: %s.", events.RepairText(asked.Name), namesOfSkills(b.skills))
	}
	shown, wrong := shownOf(skill, asked.Path)
	if wrong != "" {
		return nil, wrong
	}
	b.shared = append(b.shared, shown.Digest)
	return []events.Event{events.ToolCompleted{
		Call: id, Status: events.ToolOK, Truncated: shown.Whole > 0,
		Parts: []events.Part{{Type: events.PartText, Blob: shown.Digest, Bytes: shown.Bytes}},
	}}, ""
}

// showsSkill reports whether the call is one of [ToolViewSkill]: no runner and no client
// has it.
func (c *call) showsSkill() bool {
	return c.Tool == ToolViewSkill && c.Requested == nil && !c.Asked
}

// shownOf is the text of a skill at a path, or why there is none.
func shownOf(skill events.Skill, path string) (events.SkillFile, string) {
	path = strings.TrimPrefix(strings.TrimSpace(path), "./")
	if path == "" || path == SkillFileName {
		return events.SkillFile{Path: SkillFileName, Digest: skill.Digest, Bytes: skill.Bytes}, ""
	}
	at := slices.IndexFunc(skill.Files, func(f events.SkillFile) bool { return f.Path == path })
	switch {
	case at < 0 && len(skill.Files) == 0:
		return events.SkillFile{}, fmt.Sprintf("The skill %s has no files.", skill.Name)
	case at < 0:
		paths := make([]string, len(skill.Files))
		for i, f := range skill.Files {
			paths[i] = f.Path
		}
		return events.SkillFile{}, fmt.Sprintf("The skill %s has no file %.200q. It has: %s.", skill.Name, events.RepairText(path), strings.Join(paths, ", "))
	case skill.Files[at].Digest == "":
		return events.SkillFile{}, fmt.Sprintf("%s is no text, so it cannot be shown: it has %d bytes.", path, skill.Files[at].Bytes)
	}
	return skill.Files[at], ""
}

// SkillFileName is the file that makes a folder a skill.
const SkillFileName = "SKILL.md"

func findSkill(list []events.Skill, name string) (events.Skill, bool) {
	for _, skill := range list {
		if skill.Name == name {
			return skill, true
		}
	}
	return events.Skill{}, false
}

func namesOfSkills(list []events.Skill) string {
	names := make([]string, len(list))
	for i, skill := range list {
		names[i] = skill.Name
	}
	return strings.Join(names, ", ")
}

// offeredSkills are the skills of a turn with those settings, sorted by name. Whoever
// says which tools a model may call, and does not name the one that shows skills,
// has none, unless they are named themselves.
func offeredSkills(s events.Settings, live Live) []events.Skill {
	if s.Skills == nil && s.Tools != nil && !slices.Contains(*s.Tools, ToolViewSkill) {
		return nil
	}
	var offered []events.Skill
	room := events.MaxSkillsBytes
	for _, skill := range live.Skills {
		if s.Skills != nil && !slices.Contains(*s.Skills, skill.Name) {
			continue
		}
		if room -= SkillBytes(skill); room < 0 || len(offered) == events.MaxSkills {
			break // whoever puts skills is told before
		}
		offered = append(offered, skill)
	}
	return offered
}

// SkillBytes is what a skill takes of [events.MaxSkillsBytes].
func SkillBytes(skill events.Skill) int { return len(jsonText(skill)) }

// What a model is told of the skills there are, behind its other instructions.
const aboutSkills = "# Skills\n\n" +
	"Skills are instructions for particular tasks. Before you do what one of these is about, read it with view_skill and follow it. " +
	"Where the user writes $ and a skill's name it mostly stands right before their message; if it does not, read it.\n"

// systemOf is what a model is told before everything else. Skills come in the order
// of their names, so that it stays the same from step to step.
func systemOf(settings events.Effective) string {
	if len(settings.Skills) == 0 {
		return settings.System
	}
	var b strings.Builder
	if settings.System != "" {
		b.WriteString(settings.System + "\n\n")
	}
	b.WriteString(aboutSkills)
	for _, skill := range settings.Skills {
		fmt.Fprintf(&b, "\n- %s: %s", skill.Name, skill.Description)
	}
	return b.String()
}

// activeSkill is a skill that a person named. It is shown before a step of its turn.
type activeSkill struct {
	Name   string        `json:"name"`
	Before int           `json:"before"` // number of that step
	Digest events.Digest `json:"digest"`
	Bytes  int64         `json:"bytes"`
}

// activations is what follows from skills that the newest inputs of the open turn
// name: the model gets to read them at its next step. One that it has read on this
// path already, as it is now, is not shown again.
func (s State) activations() []events.Event {
	t := s.f.Current
	offered := s.effective(t).Skills
	if len(offered) == 0 {
		return nil
	}
	next := len(t.Steps) + 1
	said := t.steeredBefore(next)
	if t.answers() == 0 {
		said = slices.Concat(t.Inputs, said)
	}
	var list []events.Event
	active := s.activeSkills()
	given := len(t.activeBefore(next))
	for _, skill := range namedSkills(said, offered) {
		shown := slices.ContainsFunc(active, func(a activeSkill) bool { return a.Digest == skill.Digest && a.Name == skill.Name })
		if shown || given+len(list) == events.MaxActivatedSkills {
			continue
		}
		list = append(list, events.SkillActivated{
			Step: events.StepID{Turn: t.Number, Step: next}, Skill: skill.Name, Digest: skill.Digest, Bytes: skill.Bytes,
		})
	}
	return list
}

// answers is how many steps of the turn answer.
func (t *turn) answers() int {
	n := 0
	for _, st := range t.Steps {
		if st.Purpose == events.PurposeAnswer {
			n++
		}
	}
	return n
}

// place is where the skill is shown, as boundaries count: those of the first step go
// with the inputs of the turn.
func (a activeSkill) place(t *turn) events.Boundary {
	if a.Before == firstStep {
		return events.Boundary{Turn: t.Number}
	}
	return events.Boundary{Turn: t.Number, Step: a.Before}
}

func (s *State) activateSkill(e events.SkillActivated) {
	s.f.Current.Skills = with(s.f.Current.Skills, activeSkill{Name: e.Skill, Before: e.Step.Step, Digest: e.Digest, Bytes: e.Bytes})
}

// activeBefore are the skills that a turn was given right before a step of it.
func (t *turn) activeBefore(number int) []activeSkill {
	var list []activeSkill
	for _, a := range t.Skills {
		if a.Before == number {
			list = append(list, a)
		}
	}
	return list
}

// activeSkills are those of the path that hold now, oldest first, each as it was
// named last.
func (s State) activeSkills() []activeSkill {
	active := s.skillsSince(func(*turn, activeSkill) bool { return true })
	if t := s.f.Current; t != nil {
		active = newestSkills(active, t.Skills)
	}
	return active
}

// skillsSince are those of the ended turns of the path that were named since the
// context was cleared, as far as which takes them.
func (s State) skillsSince(which func(*turn, activeSkill) bool) []activeSkill {
	cleared := s.clearedAt()
	var active []activeSkill
	for _, t := range s.path {
		for _, a := range t.Skills {
			if isBehind(a.place(t), cleared) && which(t, a) {
				active = newestSkills(active, []activeSkill{a})
			}
		}
	}
	return active
}

// newestSkills is list with those in it that were named later, at most as many as
// hold on.
func newestSkills(list, later []activeSkill) []activeSkill {
	for _, a := range later {
		list = append(slices.DeleteFunc(list, func(b activeSkill) bool { return a.Name == b.Name }), a)
	}
	return list[max(0, len(list)-events.MaxActivatedSkills):]
}

// clearedAt is where the context was last cleared on the path; zero if nowhere.
func (s State) clearedAt() events.Boundary {
	at := events.Boundary{}
	for _, b := range s.f.Boundaries {
		if len(b.Masked) == 0 && len(b.Summary) == 0 && s.onPath(b.Turn) && isBehind(b.Boundary, at) {
			at = b.Boundary
		}
	}
	return at
}

// isBehind reports whether a place of a path is behind another one.
func isBehind(place, other events.Boundary) bool {
	return place.Turn > other.Turn || place.Turn == other.Turn && place.Step > other.Step
}

// keptSkills are those that hold where what is shown begins, although what they came
// with is not shown any more: a summary does not end them.
func (s State) keptSkills(begin *boundary) []activeSkill {
	if begin == nil || len(begin.Summary) == 0 {
		return nil
	}
	return s.skillsBehind(begin.Boundary)
}

// skillsBehind are those that hold behind a place of the path and came before it.
func (s State) skillsBehind(place events.Boundary) []activeSkill {
	before := func(t *turn, a activeSkill) bool {
		return !isBehind(a.place(t), place)
	}
	kept := s.skillsSince(before)
	if t := s.f.Current; t != nil {
		for _, a := range t.Skills {
			if before(t, a) {
				kept = newestSkills(kept, []activeSkill{a})
			}
		}
	}
	return kept
}

// skills shows skills that a person named.
func (v *view) skills(list []activeSkill) {
	for _, a := range list {
		v.messages = append(v.messages, model.Message{Role: model.RoleUser, Parts: []events.Part{
			events.Text(fmt.Sprintf("The skill %s is active: the user has asked for it. Follow it where it applies.\n\n<skill name=%q>\n", a.Name, a.Name)),
			{Type: events.PartText, Blob: a.Digest, Bytes: a.Bytes},
			events.Text("\n</skill>"),
		}})
	}
}

func (s State) misfitActivation(e events.SkillActivated) string {
	if wrong := s.misfitTurn(e.Step.Turn); wrong != "" {
		return wrong
	}
	if t, open := s.pending(); open != nil {
		return fmt.Sprintf("step %s is to be given a skill while step %d.%d is under way", e.Step, t.Number, open.Number)
	}
	if next := len(s.f.Current.Steps) + 1; e.Step.Step != next {
		return fmt.Sprintf("step %s is to be given a skill where step %d.%d should be", e.Step, e.Step.Turn, next)
	}
	return ""
}

// sharedBy are the texts of skills that events refer to and that lie outside of the
// chat.
func sharedBy(list []events.Event) []events.Digest {
	var shared []events.Digest
	for _, e := range list {
		if activated, ok := e.(events.SkillActivated); ok {
			shared = append(shared, activated.Digest)
		}
	}
	return shared
}
