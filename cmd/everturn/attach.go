package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
)

// attachFlags are the files that go along with a text.
type attachFlags struct {
	Attach []string `type:"path" placeholder:"FILE" sep:"none" help:"An image or another file to send along; may be given more than once."`
}

// attachments are the files, read.
func (f attachFlags) attachments() ([]client.Attachment, error) {
	var list []client.Attachment
	for _, path := range f.Attach {
		a, err := readAttachment(path)
		if err != nil {
			return nil, cli.Exit(cli.ExitUsage, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// readAttachment reads a file, unless it is larger than any that can be sent.
func readAttachment(path string) (client.Attachment, error) {
	a := client.Attachment{Name: path}
	file, err := os.Open(path)
	if err != nil {
		return a, fmt.Errorf("attach: %w", err)
	}
	defer file.Close()
	a.Content, err = io.ReadAll(io.LimitReader(file, protocol.MaxUploadBytes+1))
	switch {
	case err != nil:
		return a, fmt.Errorf("attach: %w", err)
	case len(a.Content) == 0:
		return a, fmt.Errorf("attach: %s is empty", path)
	case len(a.Content) > protocol.MaxUploadBytes:
		return a, fmt.Errorf("attach: %s has more than %d bytes", path, protocol.MaxUploadBytes)
	}
	return a, nil
}

// attachLine is the line of a chat that attaches a file to the next one.
const attachLine = "/attach"

// isAttach reports whether a line is to attach a file.
func isAttach(text string) bool {
	return text == attachLine || strings.HasPrefix(text, attachLine+" ")
}

// attach uploads a file for the next line to take along. A person is told what is
// wrong with it; a script that goes on without it would pay for an answer to
// something else.
func (t *talk) attach(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	path := strings.TrimSpace(strings.TrimPrefix(text, attachLine))
	var part events.Part
	a, err := readAttachment(path)
	if path == "" {
		err = fmt.Errorf("which file? As in: %s picture.png", attachLine)
	}
	if err == nil {
		part, err = t.client.Attach(ctx, t.chat, a)
	}
	if err != nil {
		return t.unattached(err)
	}
	t.attached = append(t.attached, part)
	fmt.Fprintf(t.s.stderr, "%s goes along with the next line\n", events.VisibleText(described(part)))
	return nil
}

// unattached tells a person why something could not be sent along; for a script it
// is the end.
func (t *talk) unattached(err error) error {
	if !t.person {
		return err
	}
	fmt.Fprintln(t.s.stderr, "everturn:", err)
	return nil
}

// isAboutAttachments reports whether a line was turned down for what went along
// with it.
func (t *talk) isAboutAttachments(err error) bool {
	no, rejected := errors.AsType[*client.RejectedError](err)
	return rejected && no.Code == events.CodeBadCommand && len(t.attached) > 0
}

// described is an image or a file in a few words, as a transcript has it.
func described(p events.Part) string {
	return fmt.Sprintf("<%s %s, %s, %d bytes>", p.Type, p.Name, p.MediaType, p.Bytes)
}
