package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// commandInput is a command over HTTP. What it says is read as orchestrators read it.
type commandInput struct {
	Chat        string `path:"chat"`
	Key         string `header:"Idempotency-Key" doc:"The same key is the same command, however often it is sent: a ULID is its id, of anything else one is made."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/json"`
}

// createInput is the command create, for a chat whose id is made here.
type createInput struct {
	Key         string `header:"Idempotency-Key" doc:"The same key is the same chat, however often it is sent."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/json"`
}

// Outcome is what was decided about a command.
type Outcome struct {
	Chat string `json:"chat"`
	protocol.Reply
}

// Accepted is a command that will be decided.
type Accepted struct {
	Chat   string `json:"chat"`
	ID     string `json:"id"`
	Detail string `json:"detail"`
	Ask    string `json:"ask"` // where its outcome can be had
}

// maxKeyBytes bounds an Idempotency-Key.
const maxKeyBytes = 256

// told is a command with what its body must have.
type told struct {
	protocol.Body

	must []string
}

// everyCommand is what a client can want.
func everyCommand() []told {
	return []told{
		{protocol.Create{}, nil},
		{protocol.Send{}, []string{"parts"}},
		{protocol.Interrupt{}, nil},
		{protocol.Configure{}, []string{"settings"}},
		{protocol.Rename{}, []string{"title"}},
		{protocol.Archive{}, nil},
		{protocol.Unarchive{}, nil},
		{protocol.Withdraw{}, []string{"input"}},
		{protocol.Promote{}, []string{"input"}},
		{protocol.EditInput{}, []string{"input", "parts"}},
		{protocol.Retry{}, nil},
		{protocol.Continue{}, nil},
		{protocol.Edit{}, []string{"parts"}},
		{protocol.Regenerate{}, nil},
		{protocol.SelectBranch{}, []string{"turn"}},
		{protocol.Compact{}, nil},
		{protocol.Clear{}, nil},
		{protocol.Restore{}, nil},
		{protocol.Fork{}, []string{"chat"}},
		{protocol.Import{}, []string{"history"}},
		{protocol.Approve{}, []string{"call", "decision"}},
		{protocol.SetMode{}, nil},
		{protocol.Extend{}, nil},
		{protocol.Answer{}, []string{"call"}},
		{protocol.Erase{}, nil},
		{protocol.ClientResult{}, []string{"call"}},
	}
}

// makesChat reports whether there is a new chat when such a command has taken effect.
func makesChat(v protocol.Verb) bool {
	return v == protocol.VerbCreate || v == protocol.VerbFork || v == protocol.VerbImport
}

// commands makes an operation of each command.
func (a *api) commands() {
	huma.Register(a.huma, a.operation(told{Body: protocol.Create{}}, "/v1/chats", "new-chat", "Make a chat, with an id that is made here."),
		func(ctx context.Context, in *createInput) (*answer, error) {
			i, err := tenant(ctx)
			if err != nil {
				return nil, err
			}
			key := in.Key
			if key == "" {
				key = ulid.Make().String()
			}
			chat := derivedID(i.Tenant, "chat", key)
			return a.command(ctx, protocol.VerbCreate, commandInput{Chat: chat, Key: key, ContentType: in.ContentType, RawBody: in.RawBody})
		})
	for _, t := range everyCommand() {
		verb := t.Verb()
		summary := "The command " + string(verb) + " of docs/COMMANDS.md."
		huma.Register(a.huma, a.operation(t, "/v1/chats/{chat}/"+string(verb), string(verb), summary),
			func(ctx context.Context, in *commandInput) (*answer, error) { return a.command(ctx, verb, *in) })
	}
	huma.Register(a.huma, huma.Operation{
		Method: http.MethodPost, Path: "/v1/chats/{chat}/{verb}", OperationID: "unknown-verb", Hidden: true,
	}, a.unknown)
}

// unknownInput is a command of a verb that nobody knows.
type unknownInput struct {
	Chat string `path:"chat"`
	Verb string `path:"verb"`
}

// unknown answers it as orchestrators do.
func (a *api) unknown(ctx context.Context, in *unknownInput) (*answer, error) {
	_, err := protocol.DecodeCommand(in.Verb, nil)
	return nil, a.failed(ctx, err)
}

// operation documents a command.
func (a *api) operation(t told, path, id, summary string) huma.Operation {
	status, description := http.StatusOK, "It has taken effect."
	if makesChat(t.Verb()) {
		status, description = http.StatusCreated, "The chat is there."
	}
	o := huma.Operation{
		Method: http.MethodPost, Path: path, OperationID: id, Summary: summary, DefaultStatus: status,
		Responses:    responses[Outcome](a, status, description),
		MaxBodyBytes: protocol.MaxCommandBytes + 1, BodyReadTimeout: a.body, SkipValidateBody: true,
	}
	o.Responses["202"] = &huma.Response{
		Description: "It is stored, and is not decided yet.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: a.schema(reflect.TypeFor[Accepted]())}},
	}
	o.Metadata = map[string]any{toldKey: t}
	return o
}

// toldKey is where an operation has its command, for the document.
const toldKey = "command"

// documentBodies says in the document what the bodies of commands are. The library is
// not told when it makes the operations: orchestrators judge bodies, and their words
// are those that count.
func (a *api) documentBodies() {
	for _, path := range a.huma.OpenAPI().Paths {
		if path.Post == nil {
			continue
		}
		t, ok := path.Post.Metadata[toldKey].(told)
		if !ok {
			continue
		}
		schema := a.schema(reflect.TypeOf(t.Body))
		whole := a.huma.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
		delete(whole.Properties, "v")
		whole.Required = t.must
		path.Post.RequestBody.Content["application/json"].Schema = schema
		path.Post.RequestBody.Required = len(t.must) > 0
	}
}

// command stores a command and says what was decided about it.
func (a *api) command(ctx context.Context, verb protocol.Verb, in commandInput) (*answer, error) {
	k, i, err := chatKey(ctx, in.Chat)
	if err != nil {
		return nil, err
	}
	body, err := decode(verb, in)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	id, err := commandID(k, verb, in.Key)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	reply, err := a.chats.Command(waiting, k, i.By, id, body)
	switch {
	case errors.Is(err, ErrUndecided):
		return accepted(k, id)
	case err != nil:
		p := ProblemOf(a.failed(ctx, err))
		p.ID = id
		return nil, p
	case !reply.OK:
		p := problem.New(reply.Code, reply.Message)
		p.ID = reply.ID
		return nil, p
	}
	status := http.StatusOK
	if makesChat(verb) {
		status = http.StatusCreated
	}
	out, err := answerOf(status, Outcome{k.Chat, reply})
	if err == nil && makesChat(verb) {
		out.Location = "/v1/chats/" + k.Chat
	}
	return out, err
}

// accepted answers that a command will be decided.
func accepted(k events.Key, id string) (*answer, error) {
	ask := "/v1/commands/" + k.Chat + "/" + id
	out, err := answerOf(http.StatusAccepted, Accepted{
		Chat: k.Chat, ID: id, Ask: ask, Detail: "It is stored and will be decided. Do not send it as another; with the same Idempotency-Key it is the same.",
	})
	if err == nil {
		out.Location = ask
	}
	return out, err
}

// decode reads a body as orchestrators do. Over HTTP it need not say its version, and
// may be empty if there is nothing to say.
func decode(verb protocol.Verb, in commandInput) (protocol.Body, error) {
	kind, _, err := mime.ParseMediaType(in.ContentType)
	if len(in.RawBody) > 0 && (err != nil || kind != "application/json") {
		return nil, problem.New(problem.CodeBadMedia, "want Content-Type: application/json")
	}
	return protocol.DecodeCommand(string(verb), versioned(in.RawBody))
}

// versioned is the body of a command with a version, if it has none and can have one.
// What is no JSON object stays as it is, for who decodes it to say so.
func versioned(body []byte) []byte {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		trimmed = []byte("{}")
	}
	var has struct {
		V json.RawMessage `json:"v"`
	}
	if err := json.Unmarshal(trimmed, &has); err != nil || has.V != nil || trimmed[0] != '{' {
		return body
	}
	rest := bytes.TrimSpace(trimmed[1:])
	with := fmt.Appendf(nil, `{"v":%d`, protocol.Version)
	if rest[0] != '}' {
		with = append(with, ',')
	}
	return append(with, rest...)
}

// commandID is the id of a command with that Idempotency-Key. Without one it is new.
func commandID(k events.Key, verb protocol.Verb, key string) (string, error) {
	if len(key) > maxKeyBytes {
		return "", problem.New(problem.CodeBadRequest, fmt.Sprintf("Idempotency-Key: at most %d bytes are allowed", maxKeyBytes))
	}
	if key == "" {
		return ulid.Make().String(), nil
	}
	if id, err := ulid.ParseStrict(key); err == nil && id.String() == key {
		return key, nil
	}
	return derivedID(k.Tenant, k.Chat, string(verb), key), nil
}

// derivedID is an id that whoever has the same words makes, too. None of them has a
// zero byte but the last.
func derivedID(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return ulid.ULID(sum[:len(ulid.ULID{})]).String()
}
