package toolrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/picture"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Limits of the parts of an output. All of their content together has at most
// [protocol.MaxUploadBytes].
const (
	MaxParts          = 32
	maxPartNameChars  = 200
	maxURLBytes       = 2 << 10
	roomForWordsBytes = 2 << 10 // what we may have to add to a text
)

// Part is a piece of an output beside its text, which the model gets to see behind it.
// Make one with [Image], [File], [Link] or [Data].
type Part struct {
	// Type is [events.PartImage], [events.PartFile], [events.PartSource] or
	// [events.PartData].
	Type events.PartType

	// Name of an image or a file, on one line of up to 200 characters.
	Name string

	// MediaType of a file, without parameters. Empty means text/plain, or, of what is
	// no text, application/octet-stream.
	MediaType string

	// Content of an image or a file is any bytes; of data it is JSON.
	Content []byte

	// Title and URL of a source. A URL has at most 2 KiB.
	Title, URL string
}

// Image is shown to models that see, and is named to others: a PNG, JPEG, GIF or WebP
// of up to [model.MaxImageBytes]. Which of them it is, its bytes say. What is none of
// them becomes a file, and the model is told why.
func Image(name string, content []byte) Part {
	return Part{Type: events.PartImage, Name: name, Content: content}
}

// File is stored and named, with its type, size and digest; models are not shown
// what is in it.
func File(name, mediaType string, content []byte) Part {
	return Part{Type: events.PartFile, Name: name, MediaType: mediaType, Content: content}
}

// Link names something that is elsewhere. Nobody fetches it.
func Link(title, url string) Part { return Part{Type: events.PartSource, Title: title, URL: url} }

// Data is JSON that the model reads as it is. What finds no room beside the text
// becomes a file, and so does what is no JSON.
func Data(content json.RawMessage) Part { return Part{Type: events.PartData, Content: content} }

// partStore stores the parts of one call.
type partStore struct {
	runner *Runner
	chat   events.Key
	room   int // for data, in bytes
	left   int // of what may be stored, in bytes
	words  strings.Builder
}

// parts are those of an output as they are reported, their content stored, and a
// word about each that is not as the tool meant it. The effect has happened, so what
// cannot be stored spoils no result.
func (r *Runner) parts(ctx context.Context, k events.Key, call events.CallID, list []Part, room int) (parts []events.Part, words string) {
	s := partStore{runner: r, chat: k, room: room, left: protocol.MaxUploadBytes}
	for i, p := range list {
		if i == MaxParts {
			s.say("%d parts of the result are left out: there are at most %d", len(list)-i, MaxParts)
			break
		}
		part, err := s.part(ctx, p)
		switch {
		case errors.Is(err, errNotStored): // nor could the others, and each takes its time
			r.log.Error("a part of a result could not be stored", "chat", k, "call", call, "error", err)
			s.say("%d parts of the result are left out: they could not be stored", len(list)-i)
			return parts, s.words.String()
		case err != nil:
			s.say("a part of the result is left out: %v", err)
		default:
			parts = append(parts, part)
		}
	}
	return parts, s.words.String()
}

var errNotStored = errors.New("could not be stored")

func (s *partStore) say(format string, arguments ...any) {
	fmt.Fprintf(&s.words, "["+format+".]\n", arguments...)
}

func (s *partStore) part(ctx context.Context, p Part) (events.Part, error) {
	p.Name = oneLine(p.Name)
	switch p.Type {
	case events.PartImage:
		return s.image(ctx, p)
	case events.PartFile:
		return s.file(ctx, p)
	case events.PartSource:
		link := events.Part{Type: events.PartSource, Title: oneLine(p.Title), URL: oneWord(p.URL)}
		if len(link.URL) > maxURLBytes || link.URL == "" && link.Title == "" {
			return events.Part{}, fmt.Errorf("a link of %d bytes", len(link.URL))
		}
		return link, nil
	case events.PartData:
		text := events.RepairText(string(p.Content))
		if len(text) > s.room || !json.Valid([]byte(text)) {
			p.Type, p.Name, p.MediaType = events.PartFile, "data.json", "application/json"
			return s.file(ctx, p)
		}
		s.room -= len(text)
		return events.Part{Type: events.PartData, JSON: text}, nil
	case events.PartText, events.PartReasoning, events.PartCall, events.PartProviderCall, events.PartProviderResult:
	}
	return events.Part{}, fmt.Errorf("a tool makes none of type %.20q", p.Type)
}

func (s *partStore) image(ctx context.Context, p Part) (events.Part, error) {
	seen, err := picture.Look(p.Content)
	if err == nil && len(p.Content) > model.MaxImageBytes {
		err = fmt.Errorf("an image of %d bytes, at most %d are shown", len(p.Content), model.MaxImageBytes)
	}
	if err != nil {
		if p.MediaType = seen.MediaType; p.MediaType == "" && len(p.Content) > 0 {
			p.MediaType = Artifact{Content: p.Content}.mediaType()
		}
		p.Type = events.PartFile
		s.say("%.200q is kept as a file and not shown: %v", p.Name, err)
		return s.file(ctx, p)
	}
	p.MediaType = seen.MediaType
	return s.file(ctx, p)
}

// file is p with its content stored.
func (s *partStore) file(ctx context.Context, p Part) (events.Part, error) {
	switch {
	case len(p.Content) == 0:
		return events.Part{}, fmt.Errorf("%.200q is empty", p.Name)
	case len(p.Content) > s.left:
		return events.Part{}, fmt.Errorf("%.200q has %d bytes, and a result at most %d", p.Name, len(p.Content), protocol.MaxUploadBytes)
	}
	digest, err := s.runner.upload(ctx, s.chat, p.Content)
	if err != nil {
		return events.Part{}, fmt.Errorf("%w: %w", errNotStored, err)
	}
	s.left -= len(p.Content)
	return events.Part{
		Type: p.Type, Name: p.Name, MediaType: Artifact{Type: p.MediaType, Content: p.Content}.mediaType(),
		Bytes: int64(len(p.Content)), Blob: digest,
	}, nil
}

func oneLine(s string) string {
	return events.Shorten(strings.Join(strings.Fields(events.RepairText(s)), " "), maxPartNameChars)
}

func oneWord(s string) string { return strings.Join(strings.Fields(events.RepairText(s)), "") }
