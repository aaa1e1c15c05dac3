package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// retireCommand is `everturn retire`.
type retireCommand struct {
	remote

	Chat      chatName `arg:"" optional:"" help:"Which chat."`
	OlderThan age      `placeholder:"AGE" help:"Instead of a chat: every chat of the tenant in which nothing happened for so long, such as 90d or 12h."`
	To        string   `required:"" type:"existingdir" placeholder:"DIR" help:"Where the files go."`
	DryRun    bool     `help:"Say which chats these are, and do nothing."`
	JSON      bool     `help:"Print what became of each chat as one JSON object."`
}

// retired is what became of a chat, as JSON.
type retired struct {
	Tenant  string `json:"tenant"`
	Chat    string `json:"chat"`
	File    string `json:"file,omitempty"`
	Rev     uint64 `json:"rev,omitempty"`  // of the newest commit in the file
	Hash    string `json:"hash,omitempty"` // of that commit: proof of the whole chain
	Skipped string `json:"skipped,omitempty"`
	Failed  string `json:"failed,omitempty"`
}

// Run implements the command. It may be broken off at any time and called again: a
// chat is erased only when its file is whole, and a file that is whole is kept.
func (c *retireCommand) Run(s *surroundings) error {
	if (c.Chat == "") == (c.OlderThan == 0) {
		return cli.Exit(cli.ExitUsage, errors.New("either a chat or --older-than"))
	}
	return c.connected(s, func(nc *nats.Conn, cl *client.Client) error {
		reader, err := streams.OpenReader(s.ctx, nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		heads, err := (&verifyCommand{Chat: c.Chat}).heads(s.ctx, reader.Log, cl)
		if err != nil {
			return err
		}
		return c.all(s, retirement{command: c, reader: reader, client: cl}, heads)
	})
}

// all retires those chats that are old enough, and goes on after one that cannot be.
func (c *retireCommand) all(s *surroundings, r retirement, heads []protocol.Head) error {
	var errs []error
	told := make(map[string]int) // how often something went wrong
	for _, head := range heads {
		if c.Chat == "" && (head.Key.Tenant != string(c.Tenant) || time.Since(head.Stored) < time.Duration(c.OlderThan)) {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Wait))
		out, err := r.retire(ctx, head.Key)
		cancel()
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil {
			out.Failed = err.Error()
			if told[out.Failed]++; told[out.Failed] == 1 { // what keeps one from it may keep all
				errs = append(errs, fmt.Errorf("chat %s: %w", head.Key, err))
			}
		} else if out.Skipped != "" && c.Chat != "" {
			errs = append(errs, cli.Exit(cli.ExitConflict, fmt.Errorf("chat %s: %s", head.Key, out.Skipped)))
		}
		if err := c.tell(s, out); err != nil {
			return err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(told)) {
		if told[why] > 1 {
			errs = append(errs, fmt.Errorf("%s more: %s", counted(told[why]-1, "chat"), why))
		}
	}
	return errors.Join(errs...)
}

// tell prints what became of a chat.
func (c *retireCommand) tell(s *surroundings, r retired) error {
	var err error
	switch {
	case c.JSON:
		err = json.NewEncoder(s.stdout).Encode(r)
	case r.Failed != "": // an error tells it
	case r.Skipped != "" && c.Chat == "":
		_, err = fmt.Fprintf(s.stderr, "%s.%s left as it is: %s\n", r.Tenant, r.Chat, r.Skipped)
	case r.Skipped == "" && c.DryRun:
		_, err = fmt.Fprintf(s.stdout, "%s.%s\n", r.Tenant, r.Chat)
	case r.Skipped == "":
		_, err = fmt.Fprintf(s.stdout, "%s.%s rev %d hash %s in %s\n", r.Tenant, r.Chat, r.Rev, r.Hash, r.File)
	}
	return err
}

// retirement retires chats one after the other.
type retirement struct {
	command *retireCommand
	reader  *streams.Reader
	client  *client.Client
}

// retire exports a chat, verifies the file, and has the chat erased as it is in it.
func (r retirement) retire(ctx context.Context, k events.Key) (retired, error) {
	out := retired{Tenant: k.Tenant, Chat: k.Chat}
	last, err := r.reader.Log.Last(ctx, k)
	switch {
	case err != nil:
		return out, err
	case events.Erased(last.Body):
		out.Skipped = "it is erased already"
		return out, nil
	case last.Get(protocol.HeaderOwes) != "":
		out.Skipped = "something is open: a turn runs, or waits"
		return out, nil
	case r.command.DryRun:
		return out, nil
	}
	out.File = filepath.Join(r.command.To, k.Tenant+"."+k.Chat+".jsonl")
	end, err := r.export(ctx, k, out.File, events.Hash(last.Body))
	if err != nil {
		return out, err
	}
	out.Rev, out.Hash = end.Rev, end.Hash
	_, err = r.client.Command(ctx, k.Chat, protocol.Erase{V: protocol.Version, Rev: &end.Rev})
	no, rejected := errors.AsType[*client.RejectedError](err)
	switch {
	case rejected && no.Code == events.CodeErased: // it was asked for before, or somebody else did
	case rejected && no.Code == events.CodeNotIdle:
		out.Skipped = "something has happened in it since it was exported to " + out.File + ", which the next try replaces"
		return out, nil
	case err != nil:
		return out, err
	}
	return out, r.erased(ctx, k)
}

// export sees to it that the file is the whole chat, up to the commit with that hash.
// One that is there is kept if it is that, and never replaced if it is another chat's.
func (r retirement) export(ctx context.Context, k events.Key, file, newest string) (verify.End, error) {
	if about, err := os.Lstat(file); err == nil && !about.Mode().IsRegular() {
		return verify.End{}, cli.Exit(cli.ExitUsage, fmt.Errorf("%s is there, and is no file", file)) // reading a pipe would never end
	}
	end, err := wholeExport(file, k)
	if err == nil && end.Hash == newest {
		return end, nil
	}
	if other, is := errors.AsType[*otherChatError](err); is {
		return end, other
	}
	if err := writeFile(file, func(w io.Writer) error {
		_, err := export(ctx, r.reader, k, w)
		return err
	}); err != nil {
		return end, err
	}
	end, err = wholeExport(file, k)
	if err == nil && end.Hash != newest {
		err = errors.New("something has happened in it meanwhile: try again")
	}
	return end, err
}

// otherChatError means that a file has another chat in it, which may be nowhere else.
type otherChatError struct{ file, chat string }

func (e *otherChatError) Error() string {
	return e.file + " is there, and has chat " + e.chat + " in it"
}

// wholeExport reads a file from the disk and says why it is not one whole chat by all
// rules, with all its content.
func wholeExport(file string, k events.Key) (verify.End, error) {
	x := newFileContents(nil)
	checker := verify.New(verify.Options{Blob: func(k events.Key, d events.Digest) ([]byte, error) { return x.blob(k, d) }})
	var ends []verify.End
	var other *otherChatError
	err := x.read(file, func(of events.Key, e verify.Entry) error {
		if of != k {
			other = &otherChatError{file, of.String()}
			return other
		}
		checker.Add(e)
		return nil
	}, func(e verify.End) { ends = append(ends, e) })
	broken := checker.Finish(nil)
	switch {
	case other != nil:
		return verify.End{}, other
	case err != nil:
		return verify.End{}, err
	case len(ends) != 1:
		return verify.End{}, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s does not say where the chat ends", file))
	case len(ends[0].Missing) > 0:
		return verify.End{}, cli.Exit(cli.ExitIntegrity, fmt.Errorf("content %s is lost, so the export is not whole", ends[0].Missing[0]))
	case len(broken) > 0:
		return verify.End{}, cli.Exit(cli.ExitIntegrity, errors.New(broken[0].String()))
	case len(checker.Unread()) > 0:
		return verify.End{}, cli.Exit(cli.ExitFailure, checker.Unread()[0].Err)
	}
	return ends[0], nil
}

// erased waits for the tombstone.
func (r retirement) erased(ctx context.Context, k events.Key) error {
	const look = 100 * time.Millisecond
	for {
		last, err := r.reader.Log.Last(ctx, k)
		if err != nil {
			return err
		}
		if events.Erased(last.Body) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its tombstone is awaited: %w", ctx.Err())
		case <-time.After(look):
		}
	}
}
