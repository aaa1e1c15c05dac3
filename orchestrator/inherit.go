package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// begins reports whether a command makes a chat out of what another has left.
func begins(c chat.Command) bool {
	switch c.Body.(type) {
	case protocol.Fork, protocol.Import:
		return true
	}
	return false
}

// inherited is a chat before its first commit, which names that history. What the
// chat rests on is read as strictly as its log: without it there is no chat.
func (o *Orchestrator) inherited(ctx context.Context, k events.Key, e events.ChatInherited) (entry, error) {
	raw, err := o.blob(ctx, k, e.History)
	switch {
	case errors.Is(err, protocol.ErrNotFound), errors.Is(err, protocol.ErrDamaged):
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("its history: %v", err))
	case err != nil:
		return entry{}, fmt.Errorf("read the history: %w", err)
	}
	h, err := chat.ReadHistory(raw)
	switch {
	case errors.Is(err, events.ErrHistory):
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("its history: %v", err))
	case err != nil:
		return entry{}, err
	case h.Origin != e.Origin:
		return entry{}, o.stopChat(ctx, k, "its history is that of another origin")
	}
	return beginning(h), nil
}

// beginning is a chat that does not exist yet and goes on from h.
func beginning(h *chat.History) entry { return entry{state: h.State, bytes: h.Bytes} }

// takeOver gets what a chat is to begin with, and stores as its content what is
// not there yet. All of it is done before the chat's first commit, and may be
// done again. No is the answer if there is nothing to begin with.
func (o *Orchestrator) takeOver(
	ctx context.Context, h *handling, b protocol.Body,
) (e entry, history *chat.History, no *protocol.RefusedError, err error) {
	switch b := b.(type) {
	case protocol.Fork:
		history, err = o.fork(ctx, h, events.Key{Tenant: h.key.Tenant, Chat: b.Chat}, b.Rev)
	case protocol.Import:
		history, err = o.imported(ctx, h, b)
	}
	if errors.As(err, &no) {
		return entry{}, nil, no, nil
	}
	if err != nil {
		return entry{}, nil, nil, fmt.Errorf("take over a chat: %w", err)
	}
	return beginning(history), history, nil, nil
}

func noHistory(code events.Code, format string, args ...any) error {
	return &protocol.RefusedError{Code: code, Detail: events.Shorten(fmt.Sprintf(format, args...), maxDetailChars)}
}

// maxDetailChars bounds what a refusal says of what was wrong.
const maxDetailChars = 300

// fork copies another chat's log up to a rev, 0 for all of it, and what it refers
// to. Content that is lost there is not there in the copy either.
func (o *Orchestrator) fork(ctx context.Context, h *handling, origin events.Key, rev uint64) (*chat.History, error) {
	if err := origin.Validate(); err != nil {
		return nil, noHistory(events.CodeBadCommand, "chat: %v", err)
	}
	keep := o.progress(h.delivery)
	raw, err := o.logOf(ctx, origin, rev, keep)
	if err != nil {
		return nil, err
	}
	history, err := chat.ReadHistory(raw)
	if errors.Is(err, events.ErrHistory) {
		return nil, noHistory(events.CodeChatStopped, "the log of %s: %v", origin.Chat, err)
	}
	if err != nil {
		return nil, err
	}
	if beingErased(origin, history.Commits) {
		return nil, noHistory(events.CodeErased, "chat %s is being erased", origin.Chat)
	}
	for _, d := range history.Contents {
		keep(ctx)
		content, err := o.blob(ctx, origin, d)
		if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
			o.log.Warn("content of a chat is lost, and so is missing in its fork", "chat", origin, "fork", h.key, "error", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := o.putBlob(ctx, h.key, chat.Content{Digest: d, Bytes: content}); err != nil {
			return nil, err
		}
	}
	keep(ctx)
	if err := o.notErased(ctx, origin); err != nil { // else what is missing may have been deleted meanwhile
		return nil, err
	}
	return history, o.putBlob(ctx, h.key, chat.Content{Digest: history.Digest, Bytes: raw})
}

// beingErased reports whether a chat's log says that it is to be erased.
func beingErased(k events.Key, log []events.Recorded) bool {
	for _, c := range slices.Backward(log) {
		if c.Key != k {
			return false // what it goes on from itself
		}
		if _, asked := c.Events[0].(events.ChatEraseRequested); asked {
			return true
		}
	}
	return false
}

// notErased says no to another chat that is erased.
func (o *Orchestrator) notErased(ctx context.Context, k events.Key) error {
	last, err := o.last(ctx, k)
	if err != nil {
		return err
	}
	if events.Erased(last.Body) {
		return noHistory(events.CodeErased, "chat %s was erased", k.Chat)
	}
	return nil
}

// logOf is a chat's log up to a rev in the form of a history.
func (o *Orchestrator) logOf(ctx context.Context, k events.Key, rev uint64, keep func(context.Context)) ([]byte, error) {
	if why, stopped := o.cache.why(k); stopped {
		return nil, noHistory(events.CodeChatStopped, "chat %s is stopped: %s", k.Chat, why)
	}
	last, err := o.last(ctx, k)
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return nil, noHistory(events.CodeUnknownChat, "there is no chat %s", k.Chat)
	case err != nil:
		return nil, err
	case events.Erased(last.Body):
		return nil, noHistory(events.CodeErased, "chat %s was erased", k.Chat)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var raw []byte
	var read uint64
	for m, err := range o.bus.Log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", k, err)
		}
		keep(ctx)
		if read == 0 {
			if raw, err = o.before(ctx, k, m.Body); err != nil {
				return nil, err
			}
		}
		raw = append(append(raw, m.Body...), '\n')
		if len(raw) > events.MaxHistoryBytes {
			return nil, noHistory(events.CodeTooLarge, "the log of %s has more than %d bytes", k.Chat, events.MaxHistoryBytes)
		}
		if read++; read == rev {
			return raw, nil
		}
	}
	if read < rev {
		return nil, noHistory(events.CodeBadCommand, "rev: chat %s has %d", k.Chat, read)
	}
	return raw, nil
}

// before is the history that a chat with that first commit has itself.
func (o *Orchestrator) before(ctx context.Context, k events.Key, first []byte) ([]byte, error) {
	c, err := events.Decode(first)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		return nil, version
	}
	if err != nil {
		return nil, noHistory(events.CodeChatStopped, "the log of %s: %v", k.Chat, err)
	}
	inherited, ok := c.Events[0].(events.ChatInherited)
	if !ok {
		return nil, nil
	}
	raw, err := o.blob(ctx, k, inherited.History)
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return nil, noHistory(events.CodeChatStopped, "the history of %s: %v", k.Chat, err)
	}
	return raw, err
}

// imported reads a history that was uploaded, and sees to it that all of it was.
func (o *Orchestrator) imported(ctx context.Context, h *handling, b protocol.Import) (*chat.History, error) {
	if !b.History.Valid() {
		return nil, noHistory(events.CodeBadCommand, "history: no digest")
	}
	raw, err := o.blob(ctx, h.key, b.History)
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return nil, noHistory(events.CodeInvalidHistory, "it was not uploaded: %v", err)
	}
	if err != nil {
		return nil, err
	}
	history, err := chat.ReadHistory(raw)
	if err != nil { // also what only a newer release could read: it will tell when it is asked
		return nil, noHistory(events.CodeInvalidHistory, "%v", err)
	}
	keep := o.progress(h.delivery)
	missing := make(map[events.Digest]bool, len(b.Missing))
	for _, d := range b.Missing {
		missing[d] = true
	}
	for _, d := range history.Contents {
		if missing[d] {
			continue
		}
		keep(ctx)
		_, err := o.blob(ctx, h.key, d)
		if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
			return nil, noHistory(events.CodeInvalidHistory, "what it refers to was not uploaded: %v", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return history, nil
}

// progress tells the queue every so often that a message is being worked on: much
// content may have to be copied, or deleted, for it.
func (o *Orchestrator) progress(d protocol.Delivery) func(context.Context) {
	every := o.cfg.AckWait / progressShare
	told := time.Now()
	return func(ctx context.Context) {
		if time.Since(told) < every {
			return
		}
		told = time.Now()
		try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
		defer cancel()
		if err := d.InProgress(try); err != nil {
			o.log.Debug("progress not told", "subject", d.Subject(), "error", err)
		}
	}
}

// progressShare is which part of the ack wait may pass in silence.
const progressShare = 5
