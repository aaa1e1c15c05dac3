package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openai"
	library "charm.land/fantasy/providers/openaicompat"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
)

// Model is one model of one provider. It is safe for concurrent use.
type Model struct {
	asker  *attempt.Asker
	images bool
}

// New makes a model. It makes no request.
func New(cfg Config) (*Model, error) {
	cfg = cfg.withDefaults()
	if errs := cfg.endpoint().Problems(); errs != nil {
		return nil, errors.Join(errs...)
	}
	asker, err := attempt.NewAsker(cfg.endpoint(), attempt.Form{
		Library: func(client *http.Client) (fantasy.Provider, error) {
			return library.New(
				library.WithBaseURL(cfg.BaseURL),
				library.WithAPIKey(attempt.NoKey),
				library.WithHTTPClient(client),
				library.WithUserAgent(attempt.UserAgent),
				library.WithLanguageModelOptions(openai.WithLanguageModelToPromptFunc(encode)),
			)
		},
		Call:   cfg.call,
		Reader: func(name string) attempt.Reader { return newReader(cfg.Provider, name) },
	})
	if err != nil {
		return nil, err
	}
	return &Model{asker: asker, images: !cfg.NoImages}, nil
}

// TakesImages implements [model.Viewer].
func (m *Model) TakesImages() bool { return m.images }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return m.asker.Stream(ctx, r)
}

// Close closes the connections that are kept for the next request. Those in use
// are not touched.
func (m *Model) Close() { m.asker.Close() }
