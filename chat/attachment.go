package chat

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Limits of what is sent beside text. All of it was uploaded before and is named by
// digest.
const (
	// MaxAttachments is how many images and files may be sent in one chat.
	MaxAttachments = 128

	// MaxAttachedBytes is how large those of one input may be together: all of it
	// is looked at before the command is decided.
	MaxAttachedBytes = 32 << 20

	maxNameChars      = 200
	maxMediaTypeBytes = 127
)

// plainMediaType is that of a file of which nobody says what it is.
const plainMediaType = "application/octet-stream"

// Attached are the parts of a command that name uploaded content, nil unless it is
// well formed. Whoever has the command decided looks at that content first, and
// says in [Command.Unfit] what does not do.
func Attached(b protocol.Body) []events.Part {
	var said []events.Part // by no other command
	if send, ok := b.(protocol.Send); ok {
		said = send.Parts
	} else if edit, ok := b.(protocol.Edit); ok {
		said = edit.Parts
	} else if edit, ok := b.(protocol.EditInput); ok {
		said = edit.Parts
	}
	if attachmentsIn(said) == 0 { // nearly always: the text need not be repaired twice
		return nil
	}
	parts, wrong := cleanInput(said)
	if wrong != "" {
		return nil
	}
	var attached []events.Part
	for _, p := range parts {
		if isAttachment(p.Type) {
			attached = append(attached, p)
		}
	}
	return attached
}

func isAttachment(t events.PartType) bool { return t == events.PartImage || t == events.PartFile }

// cleanAttachment is an image or a file with nothing but what is to be known of it,
// or what is wrong with it.
func cleanAttachment(p events.Part) (events.Part, string) {
	clean := events.Part{
		Type: p.Type, MediaType: p.MediaType, Bytes: p.Bytes, Blob: p.Blob,
		Name: cleanName(p.Name),
	}
	if clean.MediaType == "" && p.Type == events.PartFile {
		clean.MediaType = plainMediaType
	}
	switch {
	case !p.Blob.Valid():
		return clean, "blob: want the digest of what was uploaded to this chat before, as sha256:…"
	case p.Bytes < 1:
		return clean, "bytes: want the size of the content, at least 1"
	case p.Type == events.PartImage && !model.IsImageType(p.MediaType):
		return clean, fmt.Sprintf("media_type %.40q: an image is image/png, image/jpeg, image/gif or image/webp; send anything else as a file", p.MediaType)
	case p.Type == events.PartImage && p.Bytes > model.MaxImageBytes:
		return clean, fmt.Sprintf("an image of %d bytes, at most %d are allowed: make it smaller, or send it as a file", p.Bytes, model.MaxImageBytes)
	case !isMediaType(clean.MediaType):
		return clean, fmt.Sprintf("media_type %.40q: want a type such as application/pdf", p.MediaType)
	case p.Bytes > protocol.MaxUploadBytes:
		return clean, fmt.Sprintf("a file of %d bytes, at most %d are allowed", p.Bytes, protocol.MaxUploadBytes)
	}
	return clean, ""
}

// isMediaType reports whether s is a type and a subtype, without parameters.
func isMediaType(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	isToken := func(s string) bool {
		return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&-^_.+") == ""
	}
	return ok && len(s) <= maxMediaTypeBytes && isToken(kind) && isToken(sub)
}

// wrongAttachments says what is wrong with the attachments of an input for this
// chat, or nothing.
func (s State) wrongAttachments(c Command, parts []events.Part) string {
	count := attachmentsIn(parts)
	if count == 0 {
		return ""
	}
	if before := s.attachments(); before+count > MaxAttachments {
		return fmt.Sprintf("parts: %d images and files, and the chat has %d: at most %d are allowed in one chat; go on in a new one",
			count, before, MaxAttachments)
	}
	for i, p := range parts {
		if why, unfit := c.Unfit[p.Blob]; unfit && isAttachment(p.Type) {
			return fmt.Sprintf("parts[%d]: %s", i, why)
		}
	}
	return ""
}

func attachmentsIn(parts []events.Part) int {
	n := 0
	for _, p := range parts {
		if isAttachment(p.Type) {
			n++
		}
	}
	return n
}

// attachments is how many images and files people have sent in the chat. What is
// answered again counts once.
func (s State) attachments() int {
	n := 0
	count := func(inputs []input, of int) {
		for _, in := range inputs {
			if _, again := s.said(of, in.ID); !again {
				n += attachmentsIn(in.Parts)
			}
		}
	}
	for _, t := range s.f.Past {
		count(t.said(), t.Again)
	}
	if t := s.f.Current; t != nil {
		count(t.said(), t.Again)
	}
	count(s.f.Waiting, 0)
	return n
}
