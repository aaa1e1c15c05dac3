package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// api is the JSON API: for each command and each query of the bus one operation,
// which is documented where it is made.
type api struct {
	chats Chats
	log   *slog.Logger
	wait  time.Duration // until a command is decided
	body  time.Duration // until a command's body has arrived
	huma  huma.API
	ways  []Way
}

// apiTitle and apiVersion stand in the document. The version is that of the API, not
// of the release.
const (
	apiTitle   = "Everturn"
	apiVersion = "1"
	apiAbout   = "Durable AI chats. The token says whose chats they are. docs/HTTP.md explains it, docs/COMMANDS.md every command."
)

// newAPI makes the operations. Its ways are to be entered through the door.
func newAPI(cfg Config) *api {
	a := &api{chats: cfg.Chats, log: cfg.Log, wait: cfg.CommandWait, body: cfg.BodyWait}
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	a.huma = humago.New(a, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: apiTitle, Version: apiVersion, Description: apiAbout},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				"token": {Type: "http", Scheme: "bearer", Description: "Made by `everturn tokens create`."},
			}},
			Security: []map[string][]string{{"token": {}}},
		},
		Formats: map[string]huma.Format{
			"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat,
		},
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{ours},
	})
	a.commands()
	a.queries()
	a.content()
	a.documentBodies()
	return a
}

// HandleFunc takes the operations as they are made, in place of a mux: they are
// mounted behind the door.
func (a *api) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	w := Way{Pattern: pattern, Handler: http.HandlerFunc(handler)}
	if pattern == "PUT "+contentPath {
		w.MaxBodyBytes = protocol.MaxUploadBytes
	}
	a.ways = append(a.ways, w)
}

// ServeHTTP is not asked: each operation has a way in of its own.
func (*api) ServeHTTP(http.ResponseWriter, *http.Request) {}

// schemaName names a type in the document as Go does, with its package: more than one
// has a Question.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	in := path.Base(t.PkgPath())
	if t.PkgPath() == "" {
		return huma.DefaultSchemaNamer(t, hint)
	}
	return strings.ToUpper(in[:1]) + in[1:] + huma.DefaultSchemaNamer(t, hint)
}

// ours puts what the library says is wrong into our words.
func ours(_ huma.Context, _ string, v any) (any, error) {
	said, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := problem.CodeInternal
	switch said.Status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		code = problem.CodeBadRequest
	case http.StatusRequestEntityTooLarge:
		code = events.CodeTooLarge
	case http.StatusRequestTimeout:
		code = problem.CodeTimeout
	}
	p := problem.New(code, said.Detail)
	p.Status = said.Status
	for _, e := range said.Errors {
		p.Errors = append(p.Errors, problem.Fault{Where: e.Location, Detail: e.Message})
	}
	return p, nil
}

// Document is the OpenAPI document of the JSON API.
func Document() ([]byte, error) { return newAPI(Config{}).document() }

// document is the OpenAPI document. What the library adds by itself and never
// answers is not in it.
func (a *api) document() ([]byte, error) {
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "V2ErrorModel")
	delete(schemas, "V2ErrorDetail")
	strict := map[string]bool{}
	for _, t := range everyCommand() {
		strict[schemaName(reflect.TypeOf(t.Body), "")] = true
	}
	for name, s := range schemas { // a newer gateway may answer more
		if !strict[name] {
			s.AdditionalProperties = nil
		}
	}
	document, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("gateway: document: %w", err)
	}
	return append(document, '\n'), nil
}

// schema is the schema of a type in the document.
func (a *api) schema(t reflect.Type) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// responses are what an operation answers: T when it has done what it was asked, and
// else a problem.
func responses[T any](a *api, status int, description string) map[string]*huma.Response {
	return map[string]*huma.Response{
		strconv.Itoa(status): {
			Description: description,
			Content:     map[string]*huma.MediaType{"application/json": {Schema: a.schema(reflect.TypeFor[T]())}},
		},
		"default": {
			Description: "It was not done. The code says why.",
			Content:     map[string]*huma.MediaType{problem.ContentType: {Schema: a.schema(reflect.TypeFor[problem.Problem]())}},
		},
	}
}

// answer is what an operation answers, as it is sent.
type answer struct {
	Status      int
	ContentType string `header:"Content-Type" hidden:"true"`
	Location    string `header:"Location"     hidden:"true"`
	Body        []byte
}

// answerOf is v as an answer.
func answerOf(status int, v any) (*answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return &answer{Status: status, ContentType: "application/json", Body: append(body, '\n')}, nil
}

// tenant is whose chats are asked for.
func tenant(ctx context.Context) (identity.Identity, error) {
	i, ok := identity.Of(ctx)
	if !ok {
		return i, *unauthorized("nobody has said at the door who is asking")
	}
	return i, nil
}

// failed is the problem that err comes to. What is not for who asks goes to the log.
func (a *api) failed(ctx context.Context, err error) error {
	p := ProblemOf(err)
	if p.Code == problem.CodeInternal && !errors.Is(err, context.Canceled) {
		a.log.ErrorContext(ctx, "a request failed", "request", requestID(ctx), "error", err)
	}
	return p
}

// chatKey names a chat of whoever asks. No chat has a name that none can have.
func chatKey(ctx context.Context, chat string) (events.Key, identity.Identity, error) {
	i, err := tenant(ctx)
	if err != nil {
		return events.Key{}, i, err
	}
	k := events.Key{Tenant: i.Tenant, Chat: chat}
	if err := k.Validate(); err != nil {
		return k, i, problem.New(events.CodeUnknownChat, "no chat can have this name: "+err.Error())
	}
	return k, i, nil
}
