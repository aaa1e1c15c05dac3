package openai

import (
	"context"
	"fmt"
	"iter"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openai"
	library "charm.land/fantasy/providers/openaicompat"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// Model is one model of one provider. It is safe for concurrent use.
type Model struct {
	cfg       Config
	language  fantasy.LanguageModel
	closeIdle func()
}

// New makes a model. It makes no request.
func New(cfg Config) (*Model, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	transport := wiretap.Transport{Base: cfg.Transport, Authorize: cfg.authorize, Connect: cfg.Connect}
	client, closeIdle := transport.Client()
	provider, err := library.New(
		library.WithBaseURL(cfg.BaseURL),
		library.WithAPIKey("set by the transport"), // or the library looks for one in the environment
		library.WithHTTPClient(client),
		library.WithUserAgent("everturn"),
		library.WithLanguageModelOptions(openai.WithLanguageModelToPromptFunc(encode)),
	)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	language, err := provider.LanguageModel(context.Background(), cfg.Model)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	return &Model{cfg: cfg, language: language, closeIdle: closeIdle}, nil
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		a := attempt.Attempt{
			Language: m.language, Call: m.call(r), Reader: newReader(m.cfg.Provider, r.Model),
			Limits: m.cfg.limits(), Provider: m.cfg.Provider, Secret: m.cfg.Key,
		}
		a.Stream(ctx)(yield)
	}
}

// Close closes the connections that are kept for the next request. Those in use
// are not touched.
func (m *Model) Close() { m.closeIdle() }
