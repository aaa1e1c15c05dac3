package chatgen

import (
	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// Texts of the skills of generated chats.
const (
	skillText  = "Do it well."
	skillNewer = "Do it better."
	skillFile  = "print(1)"
)

// Skills are those that some chats are offered, before and after somebody changed one.
func Skills() (before, after []events.Skill) {
	of := func(name, text string) events.Skill {
		return events.Skill{
			Name: name, Description: "How to do it.", Digest: events.DigestOf([]byte(text)), Bytes: int64(len(text)),
			Files: []events.SkillFile{
				{Path: "logo.png", Bytes: 3},
				{Path: "run.py", Digest: events.DigestOf([]byte(skillFile)), Bytes: int64(len(skillFile))},
			},
		}
	}
	return []events.Skill{of("csv", skillText), of("pdf", skillText)}, []events.Skill{of("csv", skillNewer)}
}

// share keeps what the chat gets of the skills.
func (c *Chat) share(list []events.Digest) {
	for _, text := range []string{skillText, skillNewer, skillFile} {
		for _, d := range list {
			if d == events.DigestOf([]byte(text)) {
				c.Blobs[d] = []byte(text)
			}
		}
	}
}

// skillCall is a call of the tool that shows skills.
func (d *Driver) skillCall() events.Part {
	arguments := []string{`{"name":"csv"}`, `{"name":"pdf"}`, `{"name":"csv","path":"run.py"}`, `{"name":"csv","path":"logo.png"}`, `{"name":"xls"}`, `{}`}
	return Call(chat.ToolViewSkill, arguments[d.chance.IntN(len(arguments))])
}

// skillWord is what somebody says who names skills, or seems to.
func (d *Driver) skillWord() string {
	return []string{"use $csv", "$pdf and $csv", "`$csv`", "$xls $5"}[d.chance.IntN(4)]
}
