// Package connect reads the flags, environment and contexts that people know
// from the nats command, and connects with them.
package connect

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"
)

const (
	defaultTimeout  = 5 * time.Second
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond // so that a restarted server is not stormed
)

// ErrUnauthorized means that the server answers and does not let us in.
var ErrUnauthorized = errors.New("not authorized")

// ErrUnreachable means that no server answers.
var ErrUnreachable = errors.New("no NATS server answers")

// ErrSettings means that the flags, their variables or the context are wrong, so
// that no server was asked.
var ErrSettings = errors.New("wrong connection settings")

// errChecked ends a connect that has read all settings and would now go on to
// the server.
var errChecked = errors.New("checked")

// Flags say where the server is and who we are, in the words of the nats
// command. What a flag says counts more than its variable, that more than the
// context, that more than the default. Embed it in a kong command.
type Flags struct {
	Server      string        `short:"s" env:"NATS_URL" placeholder:"URL" help:"NATS server, or several with commas (default nats://127.0.0.1:4222)."`
	Creds       string        `env:"NATS_CREDS" placeholder:"FILE" help:"Credentials file."`
	Nkey        string        `env:"NATS_NKEY" placeholder:"FILE" help:"NKEY seed file."`
	User        string        `env:"NATS_USER" placeholder:"NAME" help:"User."`
	Password    string        `env:"NATS_PASSWORD" placeholder:"PASSWORD" help:"Password of the user."`
	Token       string        `env:"NATS_TOKEN" placeholder:"TOKEN" help:"Token."`
	TLSCert     string        `name:"tlscert" env:"NATS_CERT" placeholder:"FILE" help:"TLS certificate of the client."`
	TLSKey      string        `name:"tlskey" env:"NATS_KEY" placeholder:"FILE" help:"TLS key of the client."`
	TLSCA       string        `name:"tlsca" env:"NATS_CA" placeholder:"FILE" help:"Certificates that sign the server's."`
	Timeout     time.Duration `env:"NATS_TIMEOUT" default:"5s" help:"How long to wait for the server."`
	Context     string        `env:"NATS_CONTEXT" placeholder:"NAME" help:"Context of the nats command, or the path of its file (default: the selected one)."`
	JSDomain    string        `name:"js-domain" placeholder:"DOMAIN" help:"JetStream domain."`
	InboxPrefix string        `name:"inbox-prefix" placeholder:"PREFIX" help:"Subject prefix of replies."`

	// Logger gets what happens to the connection later. Default: slog's.
	Logger *slog.Logger `kong:"-"`
}

// Connect connects once, or says why not: [ErrUnreachable], [ErrUnauthorized]
// or [ErrSettings] with what is wrong. From then on the connection comes back by
// itself, for ever; that it was away is logged. Options count more than flags.
// A domain that only the context knows is put into JSDomain.
func (f *Flags) Connect(name string, opts ...nats.Option) (*nats.Conn, error) {
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	log := f.Logger
	if log == nil {
		log = slog.Default()
	}
	var servers []string
	all := append([]nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.IgnoreAuthErrorAbort(), // credentials may be changed while we run
		f.override,
	}, logTo(log)...)
	all = append(all, opts...)
	all = append(all, provable, func(o *nats.Options) error {
		servers = o.Servers // the last option: what fails from now on is not about the settings
		return nil
	})
	nc, settings, err := natscontext.Connect(f.contextName(), all...)
	if err != nil {
		return nil, f.explain(err, servers)
	}
	if f.JSDomain == "" {
		f.JSDomain = settings.JSDomain
	}
	return nc, nil
}

// Check says what is wrong with the settings, the context's included, as far as
// that can be seen without connecting. It is an [ErrSettings].
func (f *Flags) Check() error {
	_, err := f.Connect("", provable, func(*nats.Options) error { return errChecked })
	if errors.Is(err, errChecked) {
		return nil
	}
	return err
}

// JetStream gives JetStream in the domain that the flags or the context name.
func (f *Flags) JetStream(nc *nats.Conn) (jetstream.JetStream, error) {
	if f.JSDomain == "" {
		return jetstream.New(nc)
	}
	return jetstream.NewWithDomain(nc, f.JSDomain)
}

// validate reports everything that can be seen without connecting.
func (f *Flags) validate() error {
	var errs []error
	ways := 0
	for _, given := range []bool{f.Creds != "", f.Nkey != "", f.User != "", f.Token != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		errs = append(errs, errors.New("only one of --creds, --nkey, --user and --token, or their variables, can be used"))
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		errs = append(errs, errors.New("--tlscert and --tlskey need each other"))
	}
	if f.Timeout < 0 {
		errs = append(errs, fmt.Errorf("--timeout %s is negative", f.Timeout))
	}
	for _, s := range f.servers() {
		errs = append(errs, checkServer(s))
	}
	if strings.ContainsAny(f.JSDomain, ".*> \t") {
		errs = append(errs, fmt.Errorf("--js-domain %q must hold neither dots, wildcards nor spaces", f.JSDomain))
	}
	for token := range strings.SplitSeq(f.InboxPrefix, ".") {
		if f.InboxPrefix != "" && (token == "" || strings.ContainsAny(token, "*> \t")) {
			errs = append(errs, fmt.Errorf("--inbox-prefix %q is no subject", f.InboxPrefix))
			break
		}
	}
	return errors.Join(errs...)
}

// checkServer says what is wrong with the address of a server. It is not shown:
// it may hold a password.
func checkServer(address string) error {
	u, err := url.Parse(withScheme(address))
	if err != nil || u.Host == "" {
		return errors.New("--server is no URL")
	}
	if !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
		return fmt.Errorf("--server: a NATS server does not speak %q: want nats, tls, ws or wss", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("--server: there is no port %s", port)
		}
	}
	return nil
}

// override puts what the flags say over what the context has set.
func (f *Flags) override(o *nats.Options) error {
	if s := f.servers(); len(s) > 0 {
		o.Servers = s
	}
	if len(o.Servers) == 0 || len(o.Servers) == 1 && o.Servers[0] == "" {
		o.Servers = []string{nats.DefaultURL}
	}
	o.Timeout = f.Timeout
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	for _, option := range f.options() {
		if err := option(o); err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) options() []nats.Option {
	var opts []nats.Option
	add := func(set bool, option ...nats.Option) {
		if set {
			opts = append(opts, option...)
		}
	}
	add(f.Creds != "", forget, nats.UserCredentials(f.Creds))
	add(f.Nkey != "", forget, func(o *nats.Options) error {
		option, err := nats.NkeyOptionFromSeed(f.Nkey)
		if err != nil {
			return fmt.Errorf("--nkey: %w", err)
		}
		return option(o)
	})
	add(f.Token != "", forget, nats.Token(f.Token))
	add(f.User != "", forget, nats.UserInfo(f.User, f.Password))
	add(f.User == "" && f.Password != "", func(o *nats.Options) error {
		o.Password = f.Password // of the context's user
		return nil
	})
	add(f.TLSCert != "", nats.ClientCert(f.TLSCert, f.TLSKey))
	add(f.TLSCA != "", nats.RootCAs(f.TLSCA))
	add(f.InboxPrefix != "", nats.CustomInboxPrefix(f.InboxPrefix))
	return opts
}

// provable finds out now whether we can prove who we are. The client library
// reads the files again when a server asks, and its error then looks like the
// server's.
func provable(o *nats.Options) error {
	if o.UserJWT != nil {
		if _, err := o.UserJWT(); err != nil {
			return err
		}
	}
	if o.SignatureCB != nil {
		if _, err := o.SignatureCB([]byte("any nonce")); err != nil {
			return err
		}
	}
	return nil
}

// forget drops the identity that the context has.
func forget(o *nats.Options) error {
	o.User, o.Password, o.Token = "", "", ""
	o.Nkey, o.SignatureCB, o.UserJWT = "", nil, nil
	return nil
}

func (f *Flags) servers() []string {
	var servers []string
	for s := range strings.SplitSeq(f.Server, ",") {
		if s = strings.TrimSpace(s); s != "" {
			servers = append(servers, s)
		}
	}
	return servers
}

// explain says what a failed connect means and what to do about it.
func (f *Flags) explain(err error, servers []string) error {
	where, _ := WithoutLogin(strings.Join(servers, ","))
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("connect to %s: %w: check NATS_URL, --creds, --user and --password, or the context; `everturn dev` prints the line to export (%w)", where, ErrUnauthorized, err)
	case where == "":
		return fmt.Errorf("%w: %w", ErrSettings, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.As(err, new(net.Error)):
		return fmt.Errorf("%w at %s: start one with `everturn dev`, or say where it is with --server or NATS_URL (%w)", ErrUnreachable, where, err)
	}
	return fmt.Errorf("connect to %s: %w", where, err)
}

func withScheme(s string) string {
	if strings.Contains(s, "://") {
		return s
	}
	return "nats://" + s
}

// logTo are the handlers that say what happens to a connection.
func logTo(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if err != nil { // nil is our own close
				log.Warn("connection to NATS lost", "error", err, "server", nc.ConnectedUrlRedacted())
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			// As loud as the loss: whoever has read that wants to know.
			log.Warn("connection to NATS is back", "server", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Error("NATS reports an error", "error", err, "subject", subject)
		}),
	}
}
