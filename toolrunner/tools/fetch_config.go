package tools

import (
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/web"
)

// FetchConfig says whether pages of the web are fetched, and from where. Zero values mean
// not.
type FetchConfig struct {
	// Fetch offers fetch_url.
	Fetch bool `help:"Also offer fetch_url, which gets pages of the public internet unasked. Whoever answers learns what a model puts into an address."`

	// FetchAllow names what may be fetched beside the public internet, see [web.ParseAllowed].
	FetchAllow []string `placeholder:"HOST" help:"Let fetch_url ask this host, address or network too: wiki.example, wiki.example:8080, 10.0.0.7, 10.0.0.0/8. Without a port: 80 and 443."`

	// FetchTime is how long getting a page may take.
	FetchTime time.Duration `default:"20s" placeholder:"DURATION" help:"How long fetch_url may take for a page."`
}

// maxFetchTime is the most that an operator can allow.
const maxFetchTime = 10 * time.Minute

// Validate says everything that is wrong with the configuration, or nil.
func (c FetchConfig) Validate() error {
	_, err := web.ParseAllowed(c.FetchAllow)
	if err != nil {
		err = fmt.Errorf("--fetch-allow: %w", err)
	}
	if len(c.FetchAllow) > 0 && !c.Fetch {
		err = errors.Join(err, errors.New("--fetch-allow: nothing is fetched without --fetch"))
	}
	if c.FetchTime != 0 && (c.FetchTime < time.Second || c.FetchTime > maxFetchTime) {
		err = errors.Join(err, fmt.Errorf("--fetch-time: want 1s to %v", maxFetchTime))
	}
	return err
}

// Open gives the tools that are asked for.
func (c FetchConfig) Open() ([]toolrunner.Tool, error) {
	if err := c.Validate(); err != nil || !c.Fetch {
		return nil, err
	}
	allowed, err := web.ParseAllowed(c.FetchAllow)
	if err != nil {
		return nil, err
	}
	limit := c.FetchTime
	if limit == 0 {
		limit = web.DefaultTime
	}
	return []toolrunner.Tool{FetchURL(web.NewGetter(web.Config{Allowed: allowed, Time: limit}), limit)}, nil
}
