package openai

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/everturn/everturn/model/internal/attempt"
	"github.com/everturn/everturn/model/internal/wiretap"
)

const (
	// DefaultBaseURL is where OpenAI answers.
	DefaultBaseURL = "https://api.openai.com/v1"

	defaultProvider = "openai"
)

// Config says which model to ask, where and how. Its text form leaves the key
// out.
type Config struct {
	// Provider names the provider in the log of chats. What a model thought is
	// given back only to the provider of the name that it came from. Default:
	// openai.
	Provider string

	// BaseURL is the address that /chat/completions is put behind, so mostly it
	// ends in /v1. Default: OpenAI's.
	BaseURL string

	// Key is the secret. It is sent to BaseURL as a bearer token and told to
	// nobody else. Empty: none is sent, whatever the environment holds.
	Key string

	// Model is the provider's name of the model. Required.
	Model string

	// MaxOutputTokens bounds an answer for which the chat sets no bound.
	// 0: the provider decides.
	MaxOutputTokens int

	// Effort is how much a model that reasons should: none, minimal, low,
	// medium, high, xhigh or max. Empty: not sent.
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
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	return c
}

// endpoint is what c has in common with the configurations of others.
func (c Config) endpoint() attempt.Endpoint {
	return attempt.Endpoint{
		Format: "openai", Provider: c.Provider, BaseURL: c.BaseURL, Key: c.Key, Bearer: true, Model: c.Model,
		MaxOutputTokens: c.MaxOutputTokens, Effort: c.Effort,
		Efforts:   []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"},
		Transport: c.Transport,
		Limits: wiretap.Limits{
			Silence: c.Silence, ContentSilence: c.ContentSilence, Connect: c.Connect, LineBytes: c.MaxLineBytes,
		},
	}
}
