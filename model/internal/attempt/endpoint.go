package attempt

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/everturn/everturn/model/internal/wiretap"
)

// Endpoint is what the configurations of all adapters have in common: which
// model is asked, where, as whom, and for how long it may be silent. Its text
// form leaves the key out.
type Endpoint struct {
	Format string // the adapter's name, for errors

	Provider string
	BaseURL  string
	Key      string
	Bearer   bool // the key goes as a bearer token, else in x-api-key
	Model    string

	MaxOutputTokens int
	Effort          string
	Efforts         []string // those that the format knows

	Transport http.RoundTripper
	Limits    wiretap.Limits
}

// String leaves the key out.
func (e Endpoint) String() string {
	return fmt.Sprintf("%s: %s at %s", e.Provider, e.Model, e.BaseURL)
}

// GoString leaves the key out.
func (e Endpoint) GoString() string { return e.String() }

// Problem is something wrong with a configuration.
func (e Endpoint) Problem(format string, args ...any) error {
	return fmt.Errorf(e.Format+": "+format, args...)
}

// Problems are everything that is wrong with e, whose defaults are filled in.
func (e Endpoint) Problems() []error {
	var errs []error
	if e.Model == "" {
		errs = append(errs, e.Problem("model: there is none"))
	}
	if err := checkURL(e.BaseURL); err != nil {
		errs = append(errs, e.Problem("base url: %w", err))
	}
	if strings.ContainsAny(e.Key, "\r\n\x00") {
		errs = append(errs, e.Problem("key: there is a line break in it"))
	}
	if e.MaxOutputTokens < 0 {
		errs = append(errs, e.Problem("max output tokens: want 0 or more"))
	}
	if e.Effort != "" && !slices.Contains(e.Efforts, e.Effort) {
		errs = append(errs, e.Problem("effort %q: want one of %s", e.Effort, strings.Join(e.Efforts, ", ")))
	}
	for _, name := range e.Limits.Negative() {
		errs = append(errs, e.Problem("%s: want 0 or more", name))
	}
	return errs
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("not a url") // the error would quote it, with what may stand in it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want http:// or https:// and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("no user, query or fragment may stand in it; the key has a setting of its own")
	}
	return nil
}

// authorize puts the key where the provider looks for it.
func (e Endpoint) authorize(h http.Header) {
	switch {
	case e.Key == "":
	case e.Bearer:
		h.Set("Authorization", "Bearer "+e.Key)
	default:
		h.Set("X-Api-Key", e.Key)
	}
}
