package connect

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/synadia-io/orbit.go/natscontext"
)

// FromContext is what a context of the nats command adds to the flags.
type FromContext struct {
	File   string            // empty if no context is selected
	Values map[string]string // by the name of the flag that would say the same
}

// FromContext reads the context that the flags name, or the selected one, and
// gives those of its settings that no flag overrides. [Flags.Check] comes first.
func (f *Flags) FromContext() (FromContext, error) {
	from := FromContext{Values: map[string]string{}}
	file, err := f.contextFile()
	if err != nil || file == "" {
		return from, err
	}
	from.File = file
	text, err := os.ReadFile(file)
	if err != nil {
		return from, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	var c natscontext.Settings
	if err := json.Unmarshal(text, &c); err != nil {
		return from, fmt.Errorf("%w: context %s: %w", ErrSettings, file, err)
	}
	add := func(flag, given, value string) {
		if given == "" && value != "" {
			from.Values[flag] = value
		}
	}
	if f.Creds+f.Nkey+f.User+f.Token == "" { // else the flags say who we are
		add("user", "", c.User)
		add("password", f.Password, c.Password)
		add("creds", c.User, c.Creds)
		add("nkey", c.User+c.Creds, c.NKey)
		add("token", "", c.Token)
	}
	add("server", f.Server, c.URL)
	add("tlscert", f.TLSCert, c.Cert)
	add("tlskey", f.TLSKey, c.Key)
	add("tlsca", f.TLSCA, c.CA)
	add("js-domain", f.JSDomain, c.JSDomain)
	add("inbox-prefix", f.InboxPrefix, c.InboxPrefix)
	add("socks-proxy", "", c.SocksProxy)
	return from, nil
}

// contextName is the name of a context, or the path of its file without dots,
// with which the library takes it for neither.
func (f *Flags) contextName() string {
	if !strings.ContainsRune(f.Context, filepath.Separator) {
		return f.Context
	}
	path, err := filepath.Abs(f.Context)
	if err != nil { // there is no current folder: then it will not be found either
		return f.Context
	}
	return path
}

// contextFile is the file of the context, where the nats command has it.
func (f *Flags) contextFile() (string, error) {
	name := f.contextName()
	if filepath.IsAbs(name) {
		return name, nil
	}
	home := os.Getenv("XDG_CONFIG_HOME")
	if home == "" {
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrSettings, err)
		}
		home = filepath.Join(u.HomeDir, ".config")
	}
	if name == "" {
		selected, err := os.ReadFile(filepath.Join(home, "nats", "context.txt"))
		if name = strings.TrimSpace(string(selected)); err != nil || name == "" {
			return "", nil //nolint:nilerr // without that file none is selected
		}
	}
	return filepath.Join(home, "nats", "context", name+".json"), nil
}

// WithoutLogin is an address, or several with commas, as it may be shown: without
// user, password and query. Hidden reports whether there was any of them.
func WithoutLogin(address string) (shown string, hidden bool) {
	var all []string
	for one := range strings.SplitSeq(address, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		u, err := url.Parse(withScheme(one))
		if err != nil {
			all, hidden = append(all, "a server"), true
			continue
		}
		hidden = hidden || u.User != nil || u.RawQuery != ""
		u.User, u.RawQuery = nil, ""
		all = append(all, u.String())
	}
	return strings.Join(all, ", "), hidden
}
