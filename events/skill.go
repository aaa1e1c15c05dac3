package events

import "fmt"

// Limits of skills.
const (
	MaxSkills      = 64       // that a turn is offered, and so that a tenant has
	MaxSkillsBytes = 64 << 10 // of what stands of all of them in the settings of a turn, as JSON
	MaxSkillFiles  = 64       // beside SKILL.md, in one skill

	MaxSkillNameBytes        = 64
	MaxSkillDescriptionChars = 1024
	MaxSkillPathBytes        = 200

	// MaxSkillTextBytes bounds a text of a skill as a model is shown it: the body of
	// SKILL.md, and each file, of which the middle is left out if it is longer.
	MaxSkillTextBytes = 32 << 10

	// MaxActivatedSkills is how many skills one step is given because its inputs name
	// them, and how many of those that were ever given are shown again behind a
	// summary: the newest.
	MaxActivatedSkills = 8
)

// Skill is what a turn knows of a skill that operators keep: enough to list it, and
// the digests of its texts, so that what the model read of it stays what it was.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`

	// Digest is that of its text, which is shown when it is viewed or activated.
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`

	Files []SkillFile `json:"files,omitempty"` // sorted by path
}

// SkillFile is a file beside the SKILL.md of a skill.
type SkillFile struct {
	Path   string `json:"path"`             // below the skill's folder, with slashes
	Digest Digest `json:"digest,omitempty"` // of what is shown of it; empty if it is no text
	Bytes  int64  `json:"bytes"`            // of what is shown, or of the file if that is no text

	// Whole is the size of the file if the middle of it is left out.
	Whole int64 `json:"whole,omitempty"`
}

// SkillActivated says that a person named a skill, and that the model gets to read
// it from that step on.
//
// It holds for the turn and for all that follow it. The text is in the object store,
// under its digest, as it was when the turn started.
type SkillActivated struct {
	Step   StepID `json:"step"`  // the first that is shown it
	Skill  string `json:"skill"` // by its name
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// EventType implements [Event].
func (SkillActivated) EventType() Type { return "skill.activated.v1" }
func (SkillActivated) sealed()         {}

// ValidateSkill says what is wrong with the name of a skill. It is a name of the
// folders that other programs read as skills, too.
func ValidateSkill(name string) error {
	wrong := fmt.Errorf("want 1 to %d of a-z, 0-9 and -, which neither begins, ends nor stands twice", MaxSkillNameBytes)
	if name == "" || len(name) > MaxSkillNameBytes {
		return wrong
	}
	last := byte('-')
	for _, c := range []byte(name) {
		if c == '-' && last == '-' || c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return wrong
		}
		last = c
	}
	if last == '-' {
		return wrong
	}
	return nil
}
