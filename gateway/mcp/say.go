package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// MetaID is the key of a call's _meta that makes it the same one when it comes again.
const MetaID = "everturn/id"

// maxIDBytes bounds what a client calls a call by.
const maxIDBytes = 256

// again is what makes a call the same one when it comes again.
type again struct {
	ID string `json:"id,omitempty" jsonschema:"Any words that stand for this call alone. A call that comes again with the same id is done once."`
}

// patience is how long a call waits.
type patience struct {
	WaitSeconds *float64 `json:"wait_seconds,omitempty" jsonschema:"How long to wait for the turn, 0 to 600 seconds; 50 if left out. The turn goes on in any case."`
}

type sendInput struct {
	Text  string `json:"text" jsonschema:"What to say."`
	Chat  string `json:"chat,omitempty" jsonschema:"In which chat; it is made if it does not exist. A new one if left out."`
	Agent string `json:"agent,omitempty" jsonschema:"Name of the agent that a new chat talks to."`
	Mode  string `json:"mode,omitempty" jsonschema:"While a turn runs: queue waits for its end (if left out), steer goes into it, interrupt stops it first, rollback also takes it back, reject leaves it alone."`
	again
	patience
}

// send says something and waits for what comes of it.
func (c caller) send(ctx context.Context, r call, in sendInput) (Turn, error) {
	if strings.TrimSpace(in.Text) == "" {
		return Turn{}, bad("text: there is nothing to say")
	}
	id, err := newIDs(r, in.ID)
	if err != nil {
		return Turn{}, err
	}
	k := events.Key{Tenant: c.Tenant, Chat: in.Chat}
	if k.Chat == "" {
		k.Chat = id.of(c.Tenant, "chat")
	}
	return c.follow(ctx, r, k, in.patience, func() (target, uint64, error) {
		reply, err := c.say(ctx, k, id, in)
		return target{turn: reply.Turn, input: reply.Input}, reply.Rev, err
	})
}

// say says it in a chat, which is made if it is not there.
func (c caller) say(ctx context.Context, k events.Key, id ids, in sendInput) (protocol.Reply, error) {
	body := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(in.Text)}, Mode: events.SendMode(in.Mode)}
	if in.Chat != "" {
		reply, err := c.command(ctx, k, id, body)
		if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeUnknownChat {
			return reply, err
		}
	}
	if err := c.create(ctx, k, id, in.Agent); err != nil {
		return protocol.Reply{}, err
	}
	return c.command(ctx, k, id, body)
}

// create makes a chat; one that is there stays as it is.
func (c caller) create(ctx context.Context, k events.Key, id ids, agent string) error {
	_, err := c.command(ctx, k, id, protocol.Create{V: protocol.Version, Settings: events.Settings{Agent: agent}})
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok && no.Code == events.CodeExists {
		return nil
	}
	return err
}

type waitInput struct {
	Chat string `json:"chat" jsonschema:"In which chat."`
	Turn int    `json:"turn,omitempty" jsonschema:"For which turn; the newest if left out."`
	patience
}

// wait follows a turn that was begun before.
func (c caller) wait(ctx context.Context, r call, in waitInput) (Turn, error) {
	k := events.Key{Tenant: c.Tenant, Chat: in.Chat}
	return c.follow(ctx, r, k, in.patience, func() (target, uint64, error) { return target{turn: in.Turn}, 0, nil })
}

type interruptInput struct {
	Chat   string `json:"chat" jsonschema:"In which chat."`
	Turn   int    `json:"turn,omitempty" jsonschema:"Which turn; the one that runs if left out."`
	Reason string `json:"reason,omitempty" jsonschema:"Why, for people."`
	again
	patience
}

// interrupt stops a turn, and waits until it has ended.
func (c caller) interrupt(ctx context.Context, r call, in interruptInput) (Turn, error) {
	return c.decide(ctx, r, in.Chat, in.Turn, in.again, in.patience, protocol.Interrupt{V: protocol.Version, Turn: in.Turn, Reason: in.Reason})
}

// which names a call that waits for somebody.
type which struct {
	Chat string `json:"chat" jsonschema:"In which chat, as what waits says."`
	Call string `json:"call" jsonschema:"Which call, as what waits says, such as 1.1.1."`
}

type approveInput struct {
	which
	ForChat bool `json:"for_chat,omitempty" jsonschema:"The same call need not be asked about again in this chat."`
	again
	patience
}

// approve lets a call run, and goes on to wait for its turn.
func (c caller) approve(ctx context.Context, r call, in approveInput) (Turn, error) {
	id, err := events.ParseCallID(in.Call, ".")
	if err != nil {
		return Turn{}, bad(err.Error())
	}
	body := protocol.Approve{V: protocol.Version, Call: id, Decision: protocol.DecideApprove}
	if in.ForChat {
		body.Decision = protocol.DecideApproveForChat
	}
	return c.decide(ctx, r, in.Chat, id.Turn, in.again, in.patience, body)
}

type denyInput struct {
	which
	Reason string `json:"reason,omitempty" jsonschema:"Why; the model is told."`
	Stop   bool   `json:"stop,omitempty" jsonschema:"Stop the turn, too."`
	again
	patience
}

// deny does not let a call run, and goes on to wait for its turn.
func (c caller) deny(ctx context.Context, r call, in denyInput) (Turn, error) {
	id, err := events.ParseCallID(in.Call, ".")
	if err != nil {
		return Turn{}, bad(err.Error())
	}
	return c.decide(ctx, r, in.Chat, id.Turn, in.again, in.patience,
		protocol.Approve{V: protocol.Version, Call: id, Decision: protocol.DecideDeny, Reason: in.Reason, Stop: in.Stop})
}

type answerInput struct {
	which
	Answers map[string]string `json:"answers" jsonschema:"To each question, by its id: the label of an option, or other words."`
	again
	patience
}

// answer tells the model what a person said, and goes on to wait for its turn.
func (c caller) answer(ctx context.Context, r call, in answerInput) (Turn, error) {
	id, err := events.ParseCallID(in.Call, ".")
	if err != nil {
		return Turn{}, bad(err.Error())
	}
	body := protocol.Answer{V: protocol.Version, Call: id}
	for question, text := range in.Answers {
		body.Answers = append(body.Answers, events.Answer{Question: question, Text: text})
	}
	return c.decide(ctx, r, in.Chat, id.Turn, in.again, in.patience, body)
}

// decide sends a command about a turn and follows that.
func (c caller) decide(ctx context.Context, r call, chat string, turn int, a again, p patience, body protocol.Body) (Turn, error) {
	id, err := newIDs(r, a.ID)
	if err != nil {
		return Turn{}, err
	}
	k := events.Key{Tenant: c.Tenant, Chat: chat}
	return c.follow(ctx, r, k, p, func() (target, uint64, error) {
		reply, err := c.command(ctx, k, id, body)
		if turn == 0 {
			turn = reply.Turn
		}
		return target{turn: turn}, reply.Rev, err
	})
}

// command sends a command. A no on record is a [*protocol.RefusedError], too.
func (c caller) command(ctx context.Context, k events.Key, id ids, body protocol.Body) (protocol.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CommandWait)
	defer cancel()
	reply, err := c.cfg.Chats.Command(ctx, k, c.By, id.of(k.Tenant, k.Chat, string(body.Verb())), body)
	if err == nil && !reply.OK {
		err = &protocol.RefusedError{Code: reply.Code, Detail: reply.Message}
	}
	return reply, err
}

// ids are the ids of the commands that a call becomes.
type ids struct{ key string }

// newIDs are those of a call that its client names, by the argument or in _meta; else
// they are new.
func newIDs(r call, named string) (ids, error) {
	if said, ok := r.Params.Meta[MetaID].(string); ok && named == "" {
		named = said
	}
	if len(named) > maxIDBytes {
		return ids{}, bad("id: too long")
	}
	if named == "" {
		named = ulid.Make().String()
	}
	return ids{key: named}, nil
}

// of is an id that the same call gets again for the same words, none of which has a
// zero byte.
func (i ids) of(words ...string) string {
	sum := sha256.Sum256([]byte("everturn mcp\x00" + strings.Join(words, "\x00") + "\x00" + i.key))
	return ulid.ULID(sum[:len(ulid.ULID{})]).String()
}

// bad is the problem that an argument cannot be used.
func bad(detail string) error { return problem.New(problem.CodeBadRequest, detail) }

// duration is how long to wait.
func (p patience) duration(usual time.Duration) (time.Duration, error) {
	if p.WaitSeconds == nil {
		return usual, nil
	}
	d := time.Duration(*p.WaitSeconds * float64(time.Second))
	if d < 0 || d > MaxWait {
		return 0, bad("wait_seconds: want 0 to 600")
	}
	return d, nil
}
