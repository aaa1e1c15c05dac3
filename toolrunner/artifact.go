package toolrunner

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Artifact is something that a call makes for people to keep, apart from what the
// model reads: a file, a drawing, a report.
type Artifact struct {
	// Title names it among those of the chat, on one line of up to
	// [events.MaxArtifactTitleChars]. The path of a file will do. One whose title was
	// there before is its next version.
	Title string

	// Type is its media type, without parameters. Empty means text/plain, or, of what
	// is no text, application/octet-stream.
	Type string

	// Content is any bytes. All artifacts of a call have at most
	// [protocol.MaxUploadBytes] together, and there are at most
	// [events.MaxArtifactsPerCall]. What is more is not kept, and the model is told so.
	Content []byte
}

// keep stores what a call made, and gives a word about what could not be stored: the
// result is worth more than that.
func (r *Runner) keep(ctx context.Context, k events.Key, call events.CallID, list []Artifact) (made []protocol.Artifact, without string) {
	stored := 0
	for i, a := range list {
		if i == events.MaxArtifactsPerCall || stored+len(a.Content) > protocol.MaxUploadBytes {
			return made, without + fmt.Sprintf("[%d artifacts are not kept: a call has at most %d, of %d bytes together.]\n",
				len(list)-i, events.MaxArtifactsPerCall, protocol.MaxUploadBytes)
		}
		if len(a.Content) == 0 {
			without += fmt.Sprintf("[Artifact %.40q is not kept: it is empty.]\n", a.Title)
			continue
		}
		digest, err := r.upload(ctx, k, a.Content)
		if err != nil { // nor could the others, and each takes its time
			r.log.Error("what a call made could not be stored", "chat", k, "call", call, "error", err)
			return made, without + fmt.Sprintf("[%d artifacts are not kept: they could not be stored.]\n", len(list)-i)
		}
		stored += len(a.Content)
		made = append(made, protocol.Artifact{Title: a.Title, Type: a.mediaType(), Digest: digest, Bytes: int64(len(a.Content))})
	}
	return made, without
}

func (a Artifact) mediaType() string {
	if a.Type != "" {
		return a.Type
	}
	if utf8.Valid(a.Content) && bytes.IndexByte(a.Content, 0) < 0 {
		return "text/plain"
	}
	return "application/octet-stream"
}
