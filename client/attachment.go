package client

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/picture"
	"github.com/everturn/everturn/protocol"
)

// Attachment is an image or another file that goes along with a text.
//
// An image (PNG, JPEG, GIF or WebP, up to 10 MiB) is shown to models that see. Of
// any other file, up to 16 MiB, the model is told name, type, size and digest.
type Attachment struct {
	// Name is what people and the model know it by. Of a path the last element
	// is taken.
	Name string

	// MediaType is what it is, such as application/pdf. Empty: it is found out from
	// the content and the name. An image of another type than its own, such as
	// application/octet-stream, is sent as a file.
	MediaType string

	Content []byte
}

// part is the part that names the attachment, once it is uploaded.
func (a Attachment) part() (events.Part, error) {
	p := events.Part{
		Type: events.PartFile, Name: path.Base(filepath.ToSlash(a.Name)), MediaType: a.MediaType,
		Bytes: int64(len(a.Content)), Blob: events.DigestOf(a.Content),
	}
	if a.Name == "" {
		p.Name = ""
	}
	if len(a.Content) == 0 {
		return p, fmt.Errorf("attach %q: it is empty", p.Name)
	}
	seen, err := picture.Look(a.Content)
	switch {
	case err == nil && (a.MediaType == "" || a.MediaType == seen.MediaType):
		p.Type, p.MediaType = events.PartImage, seen.MediaType
	case a.MediaType != "":
	case err != nil && !errors.Is(err, picture.ErrNoPicture):
		return p, fmt.Errorf("attach %q: %w", p.Name, err)
	default:
		p.MediaType = mediaTypeOf(p.Name, a.Content)
	}
	return p, nil
}

// mediaTypeOf is what a file seems to be, by its name or else by its content.
func mediaTypeOf(name string, content []byte) string {
	found := mime.TypeByExtension(path.Ext(name))
	if found == "" {
		found = http.DetectContentType(content)
	}
	found, _, _ = strings.Cut(found, ";") // without parameters
	return strings.TrimSpace(found)
}

// Attach uploads an attachment to a chat that exists and gives the part to send it
// with, in [Client.SendInput].
func (c *Client) Attach(ctx context.Context, chat string, a Attachment) (events.Part, error) {
	p, err := a.part()
	if err != nil {
		return p, err
	}
	if _, err := c.Upload(ctx, chat, a.Content); err != nil {
		return p, fmt.Errorf("attach %q: %w", p.Name, err)
	}
	return p, nil
}

// attachAll is parts with those of the attachments behind them.
func (c *Client) attachAll(ctx context.Context, chat string, parts []events.Part, attachments []Attachment) ([]events.Part, error) {
	if len(attachments) == 0 {
		return parts, nil
	}
	all := slices.Clone(parts)
	for _, a := range attachments {
		p, err := c.Attach(ctx, chat, a)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Upload stores content of a chat that exists and gives its digest: in one piece if
// it is small, else chunk by chunk and then as what they make together. What cannot
// be stored now is tried until ctx ends; a no is a [*QueryError]. Uploading the same
// again changes nothing.
func (c *Client) Upload(ctx context.Context, chat string, content []byte) (events.Digest, error) {
	if len(content) == 0 {
		return "", errors.New("upload: there is no content")
	}
	return inPieces(content, protocol.MaxUploadBytes, func(u protocol.Upload) error { return c.put(ctx, chat, u) })
}

// inPieces puts content of at most limit bytes: at once if it is small, else chunk
// by chunk and then as what they make together. It gives the digest of the whole.
func inPieces(content []byte, limit int, put func(protocol.Upload) error) (events.Digest, error) {
	if len(content) > limit {
		return "", fmt.Errorf("upload: %d bytes, at most %d are allowed", len(content), limit)
	}
	whole := protocol.Upload{V: protocol.Version, Blob: events.DigestOf(content)}
	if len(content) <= protocol.MaxChunkBytes {
		whole.Data = content
		return whole.Blob, put(whole)
	}
	for chunk := range slices.Chunk(content, protocol.MaxChunkBytes) {
		piece := protocol.Upload{V: protocol.Version, Data: chunk, Blob: events.DigestOf(chunk)}
		if err := put(piece); err != nil {
			return "", err
		}
		whole.Chunks = append(whole.Chunks, piece.Blob)
	}
	return whole.Blob, put(whole)
}

// put stores one piece, or joins them.
func (c *Client) put(ctx context.Context, chat string, u protocol.Upload) error {
	var a protocol.UploadAnswer
	if err := c.insist(ctx, protocol.QueryUpload, protocol.UploadQuery{Chat: chat, Upload: u}, &a); err != nil {
		return err
	}
	if a.Blob != u.Blob {
		return fmt.Errorf("upload: %s was stored as %s", u.Blob, a.Blob)
	}
	return nil
}

// ErrDamaged means that content does not have the digest it was asked for by.
var ErrDamaged = errors.New("the content does not have its digest: it was damaged on its way or where it is stored")

// Download gives content of a chat, checked against its digest: what a part of a
// transcript names in Blob.
func (c *Client) Download(ctx context.Context, chat string, d events.Digest) ([]byte, error) {
	var content []byte
	for {
		var a protocol.DownloadAnswer
		q := protocol.Download{V: protocol.Version, Blob: d, Offset: int64(len(content))}
		if err := c.insist(ctx, protocol.QueryDownload, protocol.DownloadQuery{Chat: chat, Download: q}, &a); err != nil {
			return nil, err
		}
		content = append(content, a.Data...)
		if int64(len(content)) >= a.Bytes {
			break
		}
		if len(a.Data) == 0 || a.Bytes > protocol.MaxUploadBytes {
			return nil, fmt.Errorf("download %s: %d of %d bytes came", d, len(content), a.Bytes)
		}
	}
	if events.DigestOf(content) != d {
		return nil, fmt.Errorf("download %s: %w", d, ErrDamaged)
	}
	return content, nil
}

// insist is [Client.Query], asked again until ctx ends for as long as the answer is
// that it cannot be answered now.
func (c *Client) insist(ctx context.Context, name string, request, response any) error {
	for {
		err := c.Query(ctx, name, request, response)
		no, isNo := errors.AsType[*QueryError](err)
		switch {
		case err == nil, isNo && no.Code != events.CodeUnavailable,
			errors.Is(err, ErrNoService), errors.Is(err, ErrNotAllowed), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrMaxPayload):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(storeWait):
		}
	}
}
