package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// maxChunks bounds how many pieces an upload is joined from.
const maxChunks = 1024

// offer takes the manifests a group of runners has.
func (o *Orchestrator) offer(ctx context.Context, group string, body []byte) any {
	var offered protocol.Offer
	err := decodeRequest(body, &offered)
	if err == nil && offered.Group != group {
		err = fmt.Errorf("offer of group %.40q on the subject of %.40q", offered.Group, group)
	}
	if err == nil && (offered.Runner == "" || len(offered.Runner) > maxWordBytes) {
		err = fmt.Errorf("runner: want 1 to %d bytes", maxWordBytes)
	}
	if err != nil {
		o.refusedRequest(ctx, "offer", events.Key{}, err)
		return protocol.OfferAnswer{Refused: []string{err.Error()}}
	}
	n := len(offered.Manifests)
	a := protocol.OfferAnswer{Refused: make([]string, n), Digests: make([]events.Digest, n)}
	for i, m := range offered.Manifests {
		if err := o.enter(ctx, group, offered.Runner, m); err != nil {
			o.refusedRequest(ctx, "offer", events.Key{}, err)
			a.Refused[i] = err.Error()
			continue
		}
		_, a.Digests[i] = m.Encode()
	}
	return a
}

// enter puts one manifest into the registry.
func (o *Orchestrator) enter(ctx context.Context, group, runner string, m protocol.Manifest) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if m.Group != group {
		return fmt.Errorf("manifest %q: group %q was not asked to offer it", m.Name, group)
	}
	if chat.IsBuiltIn(m.Name) {
		return fmt.Errorf("manifest %q: Everturn has a tool of that name itself", m.Name)
	}
	if _, err := chat.CompileSchema(m.Schema); err != nil {
		return fmt.Errorf("manifest %q: %w", m.Name, err)
	}
	_, digest := m.Encode()
	if known, ok := o.tools.entry(m.Name); ok {
		switch {
		case known.Manifest.Group != group:
			return fmt.Errorf("manifest %q: the tool belongs to group %q", m.Name, known.Manifest.Group)
		case known.Digest == digest:
			return nil // as it is: runners offer again and again
		}
	} else if n := len(o.tools.offered()); n >= chat.MaxTools {
		return fmt.Errorf("manifest %q: %d tools are on offer, and no more are taken", m.Name, n)
	}
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	entry := protocol.ToolEntry{Manifest: m, Digest: digest, Runner: runner, At: events.At(o.cfg.Clock())}
	if err := o.bus.Tools.Offer(try, entry); err != nil {
		return fmt.Errorf("manifest %q: not entered: %w", m.Name, err)
	}
	o.tools.add(entry)
	return nil
}

// upload stores content of a chat: a chunk, or chunks joined.
func (o *Orchestrator) upload(ctx context.Context, k events.Key, group string, body []byte) any {
	d, err := o.store(ctx, k, group, body)
	if err != nil {
		o.refusedRequest(ctx, "upload", k, err)
		return protocol.UploadAnswer{Error: err.Error(), Code: contentCode(err)}
	}
	return protocol.UploadAnswer{Blob: d}
}

// contentError is a no to a request for content that would be the same again.
type contentError struct {
	code events.Code
	error
}

// Unwrap gives the reason.
func (e *contentError) Unwrap() error { return e.error }

// contentCode says whether asking again may help.
func contentCode(err error) events.Code {
	no, isNo := errors.AsType[*contentError](err)
	switch {
	case isNo:
		return no.code
	case isStopped(err):
		return events.CodeChatStopped
	case errors.Is(err, protocol.ErrNotFound), errors.Is(err, protocol.ErrDamaged):
		return events.CodeBadCommand
	}
	return events.CodeUnavailable
}

// badContent is a no to what a request says.
func badContent(format string, args ...any) error {
	return &contentError{events.CodeBadCommand, fmt.Errorf(format, args...)}
}

func (o *Orchestrator) store(ctx context.Context, k events.Key, group string, body []byte) (events.Digest, error) {
	var u protocol.Upload
	if err := decodeRequest(body, &u); err != nil {
		return "", badContent("%w", err)
	}
	limit := protocol.MaxUploadBytes
	if u.Import && group != "" {
		return "", badContent("import: a runner brings no chat along")
	}
	if u.Import {
		limit = protocol.MaxImportBytes
	}
	if err := o.takesContent(ctx, k, u.Import); err != nil {
		return "", err
	}
	content := u.Data
	switch {
	case len(u.Data) > protocol.MaxChunkBytes:
		return "", badContent("data: %d bytes, at most %d are allowed", len(u.Data), protocol.MaxChunkBytes)
	case len(u.Chunks) > 0 && len(u.Data) > 0:
		return "", badContent("data and chunks: want one of them")
	case len(u.Chunks) > 0:
		var err error
		if content, err = o.join(ctx, k, u.Chunks, limit); err != nil {
			return "", err
		}
	}
	d := events.DigestOf(content)
	if (u.Blob != "" || len(u.Chunks) > 0) && u.Blob != d {
		return "", badContent("blob: the content hashes to %s", d)
	}
	if err := o.putBlob(ctx, k, chat.Content{Digest: d, Bytes: content}); err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return d, nil
}

// join is the content of chunks that were uploaded before, limit bytes at most.
func (o *Orchestrator) join(ctx context.Context, k events.Key, chunks []events.Digest, limit int) ([]byte, error) {
	if len(chunks) > maxChunks {
		return nil, badContent("chunks: %d, at most %d are allowed", len(chunks), maxChunks)
	}
	var content []byte
	for i, d := range chunks {
		if !d.Valid() {
			return nil, badContent("chunks[%d]: no digest", i)
		}
		chunk, err := o.blob(ctx, k, d)
		if err != nil {
			return nil, fmt.Errorf("chunks[%d]: %w", i, err)
		}
		if len(content)+len(chunk) > limit {
			return nil, badContent("chunks: more than %d bytes", limit)
		}
		content = append(content, chunk...)
	}
	return content, nil
}

// takesContent says no to content for a chat that is not there, unless it is about
// to be imported, and for one that is erased: nobody would delete it.
func (o *Orchestrator) takesContent(ctx context.Context, k events.Key, imported bool) error {
	e, err := o.fresh(ctx, k)
	switch {
	case err != nil:
		return err
	case !e.state.Exists() && !imported:
		return &contentError{events.CodeUnknownChat, fmt.Errorf("chat %s: %w", k, protocol.ErrNotFound)}
	}
	return erasedContent(e.state)
}

// erasedContent says no to content of a chat that is erased.
func erasedContent(s chat.State) error {
	if s.Erased() {
		return &contentError{events.CodeErased, fmt.Errorf("chat %s was erased", s.Key())}
	}
	return nil
}

// contentOf gives content of a chat that is not erased. A chat that cannot be read
// for another reason still has its content.
func (o *Orchestrator) contentOf(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	e, err := o.fresh(ctx, k)
	if err == nil {
		err = erasedContent(e.state)
	}
	if err != nil && !hopeless(err) {
		return nil, err
	}
	return o.blob(ctx, k, d)
}

// download gives content of a chat, a chunk at a time.
func (o *Orchestrator) download(ctx context.Context, k events.Key, body []byte) any {
	var q protocol.Download
	err := decodeRequest(body, &q)
	if err == nil && !q.Blob.Valid() {
		err = errors.New("blob: no digest")
	}
	if err != nil {
		err = &contentError{events.CodeBadCommand, err}
	}
	var content []byte
	if err == nil {
		content, err = o.contentOf(ctx, k, q.Blob)
	}
	if err == nil && (q.Offset < 0 || q.Offset > int64(len(content))) {
		err = badContent("offset: %d, the content has %d bytes", q.Offset, len(content))
	}
	if err != nil {
		o.refusedRequest(ctx, "download", k, err)
		return protocol.DownloadAnswer{Error: err.Error(), Code: contentCode(err)}
	}
	rest := content[q.Offset:]
	return protocol.DownloadAnswer{Data: rest[:min(len(rest), protocol.MaxChunkBytes)], Bytes: int64(len(content))}
}
