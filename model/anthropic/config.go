package anthropic

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/everturn/everturn/model/internal/attempt"
	"github.com/everturn/everturn/model/internal/wiretap"
)

const (
	// DefaultBaseURL is where Anthropic answers.
	DefaultBaseURL = "https://api.anthropic.com"

	// DefaultMaxOutputTokens is asked for where nobody says how long an answer
	// may be: the format wants a number, and every model of the last years can
	// do this one.
	DefaultMaxOutputTokens = 8192

	defaultProvider = "anthropic"

	// minThinkingTokens is the least that the format takes.
	minThinkingTokens = 1024
)

// Config says which model to ask, where and how. Its text form leaves the key
// out.
type Config struct {
	// Provider names the provider in the log of chats. What a model thought is
	// given back only to the provider of the name that it came from. Default:
	// anthropic.
	Provider string

	// BaseURL is the address without the path of the format. A /v1 at its end
	// is taken off. Default: Anthropic's.
	BaseURL string

	// Key is the secret. It is sent to BaseURL and told to nobody else. Empty:
	// none is sent, whatever the environment holds.
	Key string

	// Bearer sends the key as a bearer token instead of in x-api-key.
	Bearer bool

	// Model is the provider's name of the model. Required.
	Model string

	// MaxOutputTokens bounds an answer for which the chat sets no bound, without
	// what the model may think. Default: [DefaultMaxOutputTokens].
	MaxOutputTokens int

	// ThinkingTokens lets the model think, for so many tokens. 0: it does not,
	// or as Effort says. At least 1024.
	ThinkingTokens int

	// Effort is low, medium, high, xhigh or max, for models that decide by
	// themselves how long to think. Empty: not sent. Not with ThinkingTokens.
	Effort string

	// NoImages says that the model takes no images: it is told that there was
	// one.
	NoImages bool

	// Transport carries the requests. Default: one of our own.
	Transport http.RoundTripper

	// Silence ends an attempt when no byte came for so long. Default: 180 s.
	Silence time.Duration

	// ContentSilence ends an attempt when nothing of the answer came for so
	// long, also while the provider keeps the connection alive. Default: 10 min.
	ContentSilence time.Duration

	// Connect bounds the way to the provider, if Transport is our own.
	// Default: 30 s.
	Connect time.Duration

	// MaxLineBytes bounds one line of an answer. Default: 16 MiB.
	MaxLineBytes int
}

// String leaves the key out.
func (c Config) String() string { return c.withDefaults().endpoint().String() }

// GoString leaves the key out.
func (c Config) GoString() string { return c.String() }

// withDefaults is c without anything missing.
func (c Config) withDefaults() Config {
	c.Provider = cmp.Or(c.Provider, defaultProvider)
	c.BaseURL = cmp.Or(c.BaseURL, DefaultBaseURL)
	c.BaseURL = strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	c.MaxOutputTokens = cmp.Or(c.MaxOutputTokens, DefaultMaxOutputTokens)
	return c
}

// endpoint is what c has in common with the configurations of others.
func (c Config) endpoint() attempt.Endpoint {
	return attempt.Endpoint{
		Format: "anthropic", Provider: c.Provider, BaseURL: c.BaseURL, Key: c.Key, Bearer: c.Bearer, Model: c.Model,
		MaxOutputTokens: c.MaxOutputTokens, Effort: c.Effort, Efforts: []string{"low", "medium", "high", "xhigh", "max"},
		Transport: c.Transport,
		Limits: wiretap.Limits{
			Silence: c.Silence, ContentSilence: c.ContentSilence, Connect: c.Connect, LineBytes: c.MaxLineBytes,
		},
	}
}

// check says everything that is wrong with c.
func (c Config) check() error {
	e := c.endpoint()
	errs := e.Problems()
	if c.ThinkingTokens != 0 && c.ThinkingTokens < minThinkingTokens {
		errs = append(errs, e.Problem("thinking tokens: want 0, or %d or more", minThinkingTokens))
	}
	if c.Effort != "" && c.ThinkingTokens != 0 {
		errs = append(errs, e.Problem("effort and thinking tokens: want one of them"))
	}
	return errors.Join(errs...)
}
