package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// chatCommand is `everturn chat`.
type chatCommand struct {
	remote
	settingsFlags

	Chat chatName `help:"Go on with this chat; it is made if it does not exist. Default: a new one."`
	JSON bool     `help:"Print everything that happens as JSON, one object a line."`
}

const chatHelp = `Each line is said to the assistant, or answers what it asks. Ctrl-C stops the turn that runs, once more
leaves; the turn goes on then. /quit leaves, and so does Ctrl-C between turns.
/attach FILE sends an image or another file along with the next line.
/edit TEXT says something else in place of what was said last, /regenerate has
that answered again; /branch lists what came of each, /branch TURN goes on there.
/help shows this; a line that begins with // is said with one slash.
When a call needs your yes, the next line is the answer.
While a turn runs, /steer TEXT tells it something, /interrupt TEXT stops it and is
answered next, /rollback TEXT takes it back as well. Other lines wait for its end.
`

// Run implements the command.
func (c *chatCommand) Run(s *surroundings) error {
	signals, stop := s.signals()
	defer stop()
	return c.connected(s, func(_ *nats.Conn, cl *client.Client) error {
		// Ended by a signal only as we see it: the first one may stop just a turn.
		ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
		defer cancel()
		t := &talk{s: s, c: c, client: cl, signals: signals, person: isTerminal(s.stdin) && isTerminal(s.stdout)}
		if err := t.begin(ctx); err != nil {
			return err
		}
		defer t.watcher.Close()
		return t.run(ctx)
	})
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// talk is one conversation at the command line.
type talk struct {
	s       *surroundings
	c       *chatCommand
	client  *client.Client
	signals <-chan os.Signal
	person  bool // at both ends of the lines

	chat    string
	watcher *client.Watcher
	view    viewer
	failed  string // why the last turn failed

	attached []events.Part // go along with the next line
	lines    <-chan line
	held     *heldLine              // read while a turn ran that it does not concern
	said     []protocol.Reply       // inputs of this talk whose turns are to be shown, besides the one that is
	rev      uint64                 // of the newest commit that was shown
	later    []events.QuestionAsked // what other calls ask, after that
	asking   *asking                // what the model asks; the next lines answer it

	approving approving // calls that wait for a yes; the next line answers the first

	acting []events.CallID // calls that the client is to run
	open   *openCalls      // what the chat waited for before this talk began, to be shown
}

// begin makes the chat or shows what was said in it, and begins to watch.
func (t *talk) begin(ctx context.Context) (err error) {
	try, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	if t.chat, err = t.client.Ensure(try, string(t.c.Chat)); err != nil {
		return err
	}
	t.view = &liveView{out: t.s.stdout}
	if t.c.JSON {
		t.view = jsonView{json.NewEncoder(t.s.stdout)}
	}
	if t.person {
		fmt.Fprint(t.s.stderr, chatHelp)
		if t.c.Chat != "" {
			if err := t.s.transcript(try, t.client, projections.TranscriptRequest{Chat: t.chat}, t.c.JSON); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(t.s.stderr, "chat %s\n", t.chat)
	t.watcher, err = t.client.OpenWatcher(try, t.chat)
	return err
}

// run says line after line until there are no more.
func (t *talk) run(ctx context.Context) error {
	t.lines = readLines(ctx, t.s.stdin)
	if err := t.resume(ctx); err != nil {
		return err
	}
	for {
		if t.person {
			fmt.Fprint(t.s.stdout, "> ")
		}
		select {
		case sig := <-t.signals:
			if t.person {
				fmt.Fprintln(t.s.stdout) // the prompt stands there
			}
			return cli.Signalled(sig)
		case line, ok := <-t.nextLines():
			line, ok = t.unread(line, ok)
			mode, meddling := meddles(line.text)
			switch {
			case !ok || line.text == "/quit":
				return t.verdict(line.err)
			case line.err != nil:
				return line.err
			case line.text == "/help":
				fmt.Fprint(t.s.stderr, chatHelp)
			case strings.TrimSpace(line.text) == "":
			case isAttach(line.text):
				if err := t.attach(ctx, line.text); err != nil {
					return err
				}
			case isBranchLine(line.text):
				if err := t.branch(ctx, line.text); err != nil {
					return err
				}
			case meddling != "": // with no turn it only begins one
				if err := t.say(ctx, mode, meddling); err != nil {
					return err
				}
			case isUnknownCommand(line.text):
				t.unknown(strings.Fields(line.text)[0])
			default:
				if err := t.say(ctx, events.ModeQueue, unescaped(line.text)); err != nil {
					return err
				}
			}
		}
	}
}

// verdict is how a conversation ends that nobody broke off: a script wants to
// know whether its last turn brought an answer.
func (t *talk) verdict(err error) error {
	if err == nil && t.failed != "" && !t.person {
		return cli.Exit(cli.ExitProvider, errors.New(t.failed))
	}
	return err
}

// say says a line and shows what follows until its turn has ended. Whenever a call
// waits for somebody, the next of the lines is the answer.
func (t *talk) say(ctx context.Context, mode events.SendMode, text string) error {
	reply, err := t.send(ctx, mode, text)
	if err != nil || reply.ID == "" {
		return err
	}
	return t.follow(ctx, reply)
}

// follow shows what happens until the turn that a reply is about has ended, and
// those of what was said meanwhile.
func (t *talk) follow(ctx context.Context, reply protocol.Reply) error {
	t.said = []protocol.Reply{reply}
	for len(t.said) > 0 {
		next := t.said[0]
		t.said = t.said[1:]
		if next.Turn == 0 && next.ID != reply.ID && t.rests(ctx) {
			continue
		}
		if err := t.followOne(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// send sends a text, and what was attached along with it. A reply without an id
// says that it was not sent, and that a person knows why.
func (t *talk) send(ctx context.Context, mode events.SendMode, text string) (protocol.Reply, error) {
	try, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	parts := append([]events.Part{events.Text(text)}, t.attached...)
	reply, err := t.client.SendInput(try, t.chat, protocol.Send{Parts: parts, Mode: mode, Settings: t.c.settings()})
	cancel()
	if t.isAboutAttachments(err) {
		t.attached = nil // else the next line would be turned down, too
		return protocol.Reply{}, t.unattached(err)
	}
	if err == nil {
		t.attached = nil
	}
	return reply, err
}

func (t *talk) end(turn client.Outcome) {
	t.failed = failed(turn)
	if t.c.JSON {
		_ = printTurn(t.s.stdout, turn) // nobody is left to tell
	}
	if t.failed != "" {
		fmt.Fprintln(t.s.stderr, "everturn:", t.failed)
	}
}

// printTurn prints how a turn has ended as one JSON object.
func printTurn(out io.Writer, turn client.Outcome) error {
	return json.NewEncoder(out).Encode(struct {
		Turn client.Outcome `json:"turn"`
	}{turn})
}
