package anthropic

import (
	"context"
	"iter"
	"net/http"

	"charm.land/fantasy"
	library "charm.land/fantasy/providers/anthropic"
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
	if err := cfg.check(); err != nil {
		return nil, err
	}
	asker, err := attempt.NewAsker(cfg.endpoint(), attempt.Form{
		Library: func(client *http.Client) (fantasy.Provider, error) {
			return library.New(
				library.WithBaseURL(cfg.BaseURL),
				library.WithAPIKey(attempt.NoKey),
				library.WithHTTPClient(client),
				library.WithUserAgent(attempt.UserAgent),
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
