package webhook

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// maxFileBytes bounds a webhooks.yaml.
const maxFileBytes = 1 << 20

// Limits and defaults of a hook.
const (
	MaxHooks        = 100 // each has a consumer on every log, of which a server takes 1,000
	MaxTimeout      = time.Minute
	DefaultTimeout  = 10 * time.Second
	MaxRetryFor     = 7 * 24 * time.Hour
	DefaultRetryFor = time.Hour

	minSecretBytes = 24
	maxSecretBytes = 64
	secretPrefix   = "whsec_"
)

// file is a whole webhooks.yaml. docs/WEBHOOKS.md explains every key.
type file struct {
	DeadLetters string     `yaml:"dead_letters"`
	Webhooks    []fileHook `yaml:"webhooks"`
}

type fileHook struct {
	Name      string         `yaml:"name"`
	URL       string         `yaml:"url"`
	SecretEnv []string       `yaml:"secret_env"` // the variables' names, never the secrets
	Tenants   []string       `yaml:"tenants"`
	Events    []string       `yaml:"events"`
	From      string         `yaml:"from"`
	Timeout   *time.Duration `yaml:"timeout"`
	RetryFor  *time.Duration `yaml:"retry_for"`
}

// Hook is one receiver.
type Hook struct {
	Name      string
	URL       string
	Tenants   []string      // whose events are sent; empty: everybody's
	Events    []string      // which are; empty: all
	FromStart bool          // begin with the oldest commit, where the hook is new
	Timeout   time.Duration // of one request
	RetryFor  time.Duration // of one event, before it is set aside

	secrets [][]byte // the newest first; all of them sign
}

// File is what a webhooks.yaml says.
type File struct {
	DeadLetters string // where events are noted that nobody took
	Hooks       []Hook
}

// Load reads a webhooks.yaml, and the secrets where getenv finds them. The error
// names every problem with its line and column.
func Load(path string, getenv func(string) string) (File, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("webhooks: %w", err)
	}
	f, err := Parse(path, source, getenv)
	if err == nil && !filepath.IsAbs(f.DeadLetters) {
		f.DeadLetters = filepath.Join(filepath.Dir(path), f.DeadLetters)
	}
	return f, err
}

// Parse reads the text of a file of that name.
func Parse(name string, source []byte, getenv func(string) string) (File, error) {
	if len(source) > maxFileBytes {
		return File{}, fmt.Errorf("webhooks: %s is larger than %d bytes", name, maxFileBytes)
	}
	var f file
	read, err := yamlfile.Read(name, source, &f, yamlfile.OnlyValuesOf(shownKeys()...))
	if err != nil {
		return File{}, err
	}
	if f.DeadLetters == "" {
		read.Wrong("$", "dead_letters: want a file for what nobody took")
	}
	if len(f.Webhooks) == 0 || len(f.Webhooks) > MaxHooks {
		read.Wrong("$", "webhooks: there are %d, want 1 to %d", len(f.Webhooks), MaxHooks)
	}
	whole := File{DeadLetters: f.DeadLetters}
	for i, h := range f.Webhooks {
		c := checker{read, fmt.Sprintf("$.webhooks[%d]", i), getenv}
		whole.Hooks = append(whole.Hooks, c.hook(h))
		if first := slices.IndexFunc(f.Webhooks, func(other fileHook) bool { return other.Name == h.Name }); first < i {
			read.Wrong(c.path+".name", "the name is taken by a webhook above")
		}
	}
	return whole, read.Err()
}

// shownKeys are those whose values an error may show: an address may be as good as a
// password, and where a variable's name is wanted somebody may put a secret.
func shownKeys() []string {
	return []string{"webhooks", "name", "tenants", "events", "from", "timeout", "retry_for"}
}

// checker says what is wrong with one hook.
type checker struct {
	*yamlfile.File

	path   string
	getenv func(string) string
}

func (c checker) hook(h fileHook) Hook {
	if err := events.ValidateAgent(h.Name); err != nil {
		c.Wrong(c.path+".name", "%v", err)
	}
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		c.Wrong(c.path+".url", "want an address that begins with https:// or http://")
	case u.User != nil || u.Fragment != "":
		c.Wrong(c.path+".url", "want an address without a user and without a #: who sends is known by the signature")
	}
	for i, tenant := range h.Tenants {
		if err := (events.Key{Tenant: tenant}).ValidateTenant(); err != nil {
			c.Wrong(fmt.Sprintf("%s.tenants[%d]", c.path, i), "%v", err)
		}
	}
	for i, pattern := range h.Events {
		if !slices.ContainsFunc(events.TypeNames(), func(t events.Type) bool { return matches(pattern, string(t)) }) {
			c.Wrong(fmt.Sprintf("%s.events[%d]", c.path, i), "%.80q is no event, want one such as turn.completed, or turn.*", pattern)
		}
	}
	if !slices.Contains([]string{"", fromNow, fromStart}, h.From) {
		c.Wrong(c.path+".from", "%.20q, want %s or %s", h.From, fromNow, fromStart)
	}
	return Hook{
		Name: h.Name, URL: h.URL, Tenants: h.Tenants, Events: h.Events, FromStart: h.From == fromStart,
		Timeout: c.duration("timeout", h.Timeout, DefaultTimeout, MaxTimeout), RetryFor: c.duration("retry_for", h.RetryFor, DefaultRetryFor, MaxRetryFor),
		secrets: c.secrets(h.SecretEnv),
	}
}

// Where a new hook may begin.
const (
	fromNow   = "now"
	fromStart = "start"
)

func (c checker) duration(name string, d *time.Duration, usual, most time.Duration) time.Duration {
	if d == nil {
		return usual
	}
	if *d <= 0 || *d > most {
		c.Wrong(c.path+"."+name, "%v, want more than 0 and at most %v", *d, most)
	}
	return *d
}

// variableName is what a variable of the environment may be called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,79}$`)

// secrets are those that the variables have.
func (c checker) secrets(variables []string) [][]byte {
	if len(variables) == 0 {
		c.Wrong(c.path, "secret_env: want the name of a variable; what is not signed would be believed")
	}
	var list [][]byte
	for i, name := range variables {
		at := fmt.Sprintf("%s.secret_env[%d]", c.path, i)
		if !variableName.MatchString(name) || strings.HasPrefix(name, secretPrefix) {
			c.Wrong(at, "this is not the name of a variable; the secret itself stays out of this file")
			continue
		}
		set := c.getenv(name)
		if set == "" {
			c.Wrong(at, "$%s is not set: export %s=%s$(openssl rand -base64 32)", name, name, secretPrefix)
			continue
		}
		value, ok := strings.CutPrefix(set, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(value)
		if !ok || err != nil || len(secret) < minSecretBytes || len(secret) > maxSecretBytes {
			c.Wrong(at, "$%s: want %s and %d to %d bytes in base64: echo %s$(openssl rand -base64 32)",
				name, secretPrefix, minSecretBytes, maxSecretBytes, secretPrefix)
			continue
		}
		list = append(list, secret)
	}
	return list
}

// Host is whom the hook tells: what may be shown of its address.
func (h Hook) Host() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// wants reports whether the hook is told of events of that type.
func (h Hook) wants(kind string) bool {
	return len(h.Events) == 0 || slices.ContainsFunc(h.Events, func(pattern string) bool { return matches(pattern, kind) })
}

// matches reports whether a pattern means a type: the whole of it, all but its
// version, or with * all that begin so.
func matches(pattern, kind string) bool {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return begin != "" && strings.HasPrefix(kind, begin)
	}
	unversioned := kind
	if at := strings.LastIndex(kind, ".v"); at > 0 {
		unversioned = kind[:at]
	}
	return pattern == kind || pattern == unversioned
}
