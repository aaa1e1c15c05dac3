package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ToolCreateArtifact is the tool by which a model gives a person something to keep.
const ToolCreateArtifact = "create_artifact"

const createArtifactDescription = `Keep a whole text for the user apart from the conversation: a document, a program, a table, a drawing as SVG. ` +
	`Use it for what the user will want to open, save or go on working with, and not for answers or short examples. ` +
	`The title names it. With the title of an earlier one it becomes the next version of that: give its whole content again. ` +
	`The user is shown it beside your answer, so do not repeat the content there.`

const createArtifactSchema = `{"type":"object","properties":{` +
	`"title":{"type":"string","description":"Names it among the others, on one line."},` +
	`"type":{"type":"string","description":"The media type, as text/markdown, text/html, image/svg+xml or application/json; text/plain if left out."},` +
	`"content":{"type":"string","description":"The whole content."}},` +
	`"required":["title","content"]}`

// maxWithoutBytes bounds what is said of artifacts that are not kept.
const maxWithoutBytes = 2 << 10

// plainTextType is the media type of an artifact of which nobody says what it is.
const plainTextType = "text/plain"

// createArtifact is said to read only because it changes nothing but the chat, as
// any answer does: nobody needs to be asked about it.
func createArtifact() builtIn {
	return builtIn{
		manifest: protocol.Manifest{
			Name: ToolCreateArtifact, Description: createArtifactDescription, Schema: json.RawMessage(createArtifactSchema),
			ReadOnly: true, Policy: events.PolicyAllow,
		},
		offered:  func(events.Settings) bool { return false },
		planning: true,
		begin:    create,
	}
}

// artifact is how far the versions of an artifact have come.
type artifact struct {
	Title   string `json:"title"`
	Version int    `json:"version"`
}

// create keeps the content of a call of create_artifact, which has its result at
// once, or says what is wrong with its arguments.
func create(b *beginning, id events.CallID, arguments string) ([]events.Event, string) {
	var asked struct {
		Title   string `json:"title"`
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(arguments), &asked); err != nil {
		return nil, "The arguments cannot be read: " + err.Error()
	}
	title := artifactTitle(asked.Title)
	if wrong := cleanText(&title, events.MaxArtifactTitleChars); wrong != "" {
		return nil, "The title " + wrong
	}
	content := events.RepairText(asked.Content)
	if isBlank(content) {
		return nil, "The content is blank."
	}
	a := events.Artifact{Title: title, Type: strings.TrimSpace(asked.Type), Digest: events.DigestOf([]byte(content)), Bytes: int64(len(content))}
	if a.Type == "" {
		a.Type = plainTextType
	}
	if !isMediaType(a.Type) {
		return nil, fmt.Sprintf("The type %.40q is none: want a media type such as text/markdown, without parameters.", a.Type)
	}
	if a.Version = nextVersion(b.artifacts, title); a.Version == 1 && len(b.artifacts) >= events.MaxArtifacts {
		return nil, fmt.Sprintf("The chat has %d artifacts, and no more are kept. Only new versions of them are.", events.MaxArtifacts)
	}
	b.artifacts = withVersion(b.artifacts, a)
	b.contents = append(b.contents, Content{Digest: a.Digest, Bytes: []byte(content)})
	return []events.Event{events.ToolCompleted{
		Call: id, Status: events.ToolOK, Artifacts: []events.Artifact{a},
		Parts: []events.Part{events.Text(fmt.Sprintf("Version %d of %q is kept: %s, %d bytes. The user can open it.", a.Version, a.Title, a.Type, a.Bytes))},
	}}, ""
}

// madeBy is what a runner's call made for people to keep, and a word about what it
// made that is not kept: its effect has happened, so the result stands anyway.
func (s State) madeBy(list []protocol.Artifact) (made []events.Artifact, without string) {
	known := s.f.Artifacts
	for i, a := range list {
		if i == events.MaxArtifactsPerCall {
			return made, events.CutText(fmt.Sprintf("%s[%d more artifacts are not kept: a call has %d at most.]\n",
				without, len(list)-i, events.MaxArtifactsPerCall), maxWithoutBytes)
		}
		kept := events.Artifact{
			Title: artifactTitle(a.Title),
			Type:  cmp.Or(a.Type, plainMediaType), Digest: a.Digest, Bytes: a.Bytes,
		}
		kept.Version = nextVersion(known, kept.Title)
		wrong := wrongArtifact(kept)
		switch {
		case wrong != "":
		case kept.Bytes > protocol.MaxUploadBytes:
			wrong = fmt.Sprintf("it has %d bytes, at most %d are allowed", kept.Bytes, protocol.MaxUploadBytes)
		case kept.Version == 1 && len(known) >= events.MaxArtifacts:
			wrong = fmt.Sprintf("the chat has %d artifacts, and only new versions of them are kept", events.MaxArtifacts)
		}
		if wrong != "" {
			without += fmt.Sprintf("[Artifact %.40q is not kept: %s.]\n", kept.Title, strings.TrimSuffix(wrong, "."))
			continue
		}
		made, known = append(made, kept), withVersion(known, kept)
	}
	return made, events.CutText(without, maxWithoutBytes)
}

// artifactTitle is the title that an artifact gets of what it is called, on one line.
func artifactTitle(said string) string {
	return strings.TrimSpace(events.RepairText(strings.Join(strings.Fields(said), " ")))
}

func artifactAt(list []artifact, title string) int {
	return slices.IndexFunc(list, func(a artifact) bool { return a.Title == title })
}

// nextVersion is the version that an artifact of that title would be.
func nextVersion(list []artifact, title string) int {
	if i := artifactAt(list, title); i >= 0 {
		return list[i].Version + 1
	}
	return 1
}

// withVersion is list with a newer version in it. It writes to no list that another
// state may have.
func withVersion(list []artifact, a events.Artifact) []artifact {
	list = slices.Clone(list)
	if i := artifactAt(list, a.Title); i >= 0 {
		list[i].Version = a.Version
		return list
	}
	return append(list, artifact{Title: a.Title, Version: a.Version})
}

// keepArtifacts folds what a call has made.
func (s *State) keepArtifacts(made []events.Artifact) {
	for _, a := range made {
		s.f.Artifacts = withVersion(s.f.Artifacts, a)
	}
}

// misfitArtifacts says why a chat cannot have got what a call made.
func (s State) misfitArtifacts(made []events.Artifact) string {
	list := s.f.Artifacts
	for _, a := range made {
		if wrong := wrongArtifact(a); wrong != "" {
			return wrong
		}
		if want := nextVersion(list, a.Title); a.Version != want || want > maxNumber/2 {
			return fmt.Sprintf("artifact %.40q has version %d where version %d should be", a.Title, a.Version, want)
		}
		list = withVersion(list, a)
	}
	if len(list) > events.MaxArtifacts {
		return fmt.Sprintf("the chat has %d artifacts, at most %d are kept", len(list), events.MaxArtifacts)
	}
	return ""
}

// wrongArtifact says what no artifact has, or nothing: an export may come from
// anywhere.
func wrongArtifact(a events.Artifact) string {
	title := a.Title
	switch wrong := cleanText(&title, events.MaxArtifactTitleChars); {
	case wrong != "":
		return "the title of an artifact " + wrong
	case title != a.Title || strings.ContainsAny(title, "\r\n\t"):
		return fmt.Sprintf("the title of artifact %.40q is not on one line", a.Title)
	case !isMediaType(a.Type):
		return fmt.Sprintf("artifact %.40q is of type %.40q, which is none", a.Title, a.Type)
	case !a.Digest.Valid():
		return fmt.Sprintf("the content of artifact %.40q has no digest", a.Title)
	case a.Bytes < 1:
		return fmt.Sprintf("artifact %.40q has %d bytes", a.Title, a.Bytes)
	}
	return ""
}

// unsoundArtifacts reports whether no chat can have those.
func unsoundArtifacts(list []artifact) bool {
	seen := make(map[string]bool)
	for _, a := range list {
		if seen[a.Title] || a.Version < 1 || a.Version > maxNumber/2 {
			return true
		}
		seen[a.Title] = true
	}
	return len(list) > events.MaxArtifacts
}
