package attempt

import (
	"context"
	"iter"
	"net/http"

	"charm.land/fantasy"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// What the library is told to send. The key is none of its business: the
// transport below it adds that, and without one given here the library would
// look for somebody's in the environment.
const (
	NoKey     = "set by the transport"
	UserAgent = "everturn"
)

// Form is what makes an adapter: how its provider's format is written and read.
type Form struct {
	// Library makes the library's half, over a client of ours.
	Library func(*http.Client) (fantasy.Provider, error)

	// Call is a request in the library's words.
	Call func(model.Request) fantasy.Call

	// Reader reads one answer of the model that chats call by that name.
	Reader func(name string) Reader
}

// Asker asks one model at one endpoint. It is safe for concurrent use, and
// implements [model.Model].
type Asker struct {
	endpoint  Endpoint
	form      Form
	language  fantasy.LanguageModel
	closeIdle func()
}

// NewAsker makes an asker for an endpoint without problems. It makes no request.
func NewAsker(e Endpoint, f Form) (*Asker, error) {
	client, closeIdle := wiretap.Transport{Base: e.Transport, Authorize: e.authorize, Connect: e.Limits.Connect}.Client()
	provider, err := f.Library(client)
	if err != nil {
		return nil, e.Problem("%w", err)
	}
	language, err := provider.LanguageModel(context.Background(), e.Model)
	if err != nil {
		return nil, e.Problem("%w", err)
	}
	return &Asker{endpoint: e, form: f, language: language, closeIdle: closeIdle}, nil
}

// Stream implements [model.Model].
func (a *Asker) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		one := attempt{
			language: a.language, call: a.form.Call(r), reader: a.form.Reader(r.Model),
			limits: a.endpoint.Limits, provider: a.endpoint.Provider, secret: a.endpoint.Key,
		}
		one.stream(ctx, yield)
	}
}

// Close closes the connections that are kept for the next request. Those in use
// are not touched.
func (a *Asker) Close() { a.closeIdle() }
