package recordings

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/recordings/oracle"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/anthropic"
	"github.com/everturn/everturn/model/openai"
)

// Played is what an adapter made of a delivery.
type Played struct {
	Answer *model.Answer
	Err    error
	Shown  map[model.DeltaKind]string // what was to be seen on the way
	Panic  any
}

// request is what is asked; what is answered does not depend on it.
func request() model.Request {
	return model.Request{
		Model:    "recorded",
		Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text("as recorded")}}},
	}
}

// Adapter makes the adapter for a format, for one address.
func Adapter(format, address string, transport http.RoundTripper) (model.Model, error) {
	if format == "anthropic" {
		return anthropic.New(anthropic.Config{BaseURL: address, Key: "secret-of-nobody", Model: "recorded", Transport: transport})
	}
	return openai.New(openai.Config{BaseURL: address, Key: "secret-of-nobody", Model: "recorded", Transport: transport})
}

// Play lets an adapter hear what is at an address.
func Play(ctx context.Context, format, address string, transport http.RoundTripper) (p Played) {
	defer func() { p.Panic = recover() }()
	m, err := Adapter(format, address, transport) //nolint:contextcheck // making one asks nobody
	if err != nil {
		return Played{Err: err}
	}
	p.Shown = make(map[model.DeltaKind]string)
	shown := make(map[model.DeltaKind]*strings.Builder)
	for delta, err := range m.Stream(ctx, request()) {
		switch {
		case err != nil:
			p.Err = err
		case delta.Answer != nil:
			p.Answer = delta.Answer
		default:
			if shown[delta.Kind] == nil {
				shown[delta.Kind] = &strings.Builder{}
			}
			shown[delta.Kind].WriteString(delta.Text)
		}
	}
	for kind, text := range shown {
		p.Shown[kind] = text.String()
	}
	return p
}

// Oracle reads a stream of the format.
func Oracle(format, stream string) oracle.Reading {
	if format == "anthropic" {
		return oracle.Anthropic(stream)
	}
	return oracle.Chat(stream)
}

// Differences are what an answer has otherwise than the oracle.
func Differences(p Played, want oracle.Reading) []string {
	var found []string
	differ := func(what string, got, want any) {
		if got != want {
			found = append(found, fmt.Sprintf("%s: got %.200s, want %.200s", what, fmt.Sprint(got), fmt.Sprint(want)))
		}
	}
	var text, thought strings.Builder
	var calls []oracle.Call
	for _, part := range p.Answer.Parts {
		switch part.Type {
		case events.PartText:
			text.WriteString(part.Text)
		case events.PartReasoning:
			thought.WriteString(part.Text)
		case events.PartCall:
			calls = append(calls, oracle.Call{ID: part.ProviderID, Name: part.Name, Arguments: part.Arguments})
		case events.PartImage, events.PartFile, events.PartSource, events.PartProviderCall, events.PartProviderResult, events.PartData:
		}
	}
	differ("text", text.String(), want.Text)
	differ("text shown", p.Shown[model.DeltaText], want.Text)
	differ("thought", thought.String(), want.Thought)
	differ("stop", p.Answer.RawStop, want.Stop)
	differ("calls", len(calls), len(want.Calls))
	for i := range min(len(calls), len(want.Calls)) {
		differ(fmt.Sprintf("call %d", i+1), calls[i], want.Calls[i])
	}
	u := p.Answer.Usage
	differ("usage", oracle.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Thought: u.Reasoning,
	}, want.Usage)
	differ("usage word for word", strings.Join(p.Answer.RawUsage, "\n"), strings.Join(want.Reports, "\n"))
	return found
}

// dripping is a transport without a network: it delivers one byte a read.
type dripping struct{ Delivery }

// RoundTrip implements [http.RoundTripper].
func (d dripping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // nobody reads the question
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{
		StatusCode: d.Status, Header: header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&drops{rest: d.Body}),
	}, nil
}

// drops reads a string byte by byte.
type drops struct{ rest string }

// Read implements [io.Reader].
func (d *drops) Read(p []byte) (int, error) {
	if d.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
