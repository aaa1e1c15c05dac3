package roles

import (
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/nats-io/nats-server/v2/server"
)

// DefaultTenant is the tenant of an installation that has only one.
const DefaultTenant = "default"

// DefaultGroup is the group of the tools that come with Everturn.
const DefaultGroup = "builtin"

// DefaultShards is the number of LOG streams in the streams.yaml of the binary.
const DefaultShards = 4

// Config says for whom a configuration is made.
type Config struct {
	Tenants []string // each gets an account and a client; default: [DefaultTenant]
	Groups  []string // of tool runners; each gets an account and a runner; default: [DefaultGroup]

	// Shards is the number of LOG streams: who may read the log may read these.
	// Default: [DefaultShards].
	Shards int

	// Passwords holds those of users that have one already, by user name. All
	// others get a new one, so the zero value makes all of them new.
	Passwords map[string]string
}

// Role is what a user is there for.
type Role string

// The roles. The first two live in accounts of their own, the next five share
// the service's account, the last watches the server.
const (
	RoleClient       Role = "client"       // one tenant's programs
	RoleRunner       Role = "runner"       // one group's tool runners
	RoleOrchestrator Role = "orchestrator" // decides, and asks the models
	RoleProjection   Role = "projection"   // reads the log and answers queries
	RoleGateway      Role = "gateway"      // speaks for all tenants over HTTP
	RoleWebhook      Role = "webhook"      // reads the log, and tells others of it
	RoleOperator     Role = "operator"     // makes streams, reads everything
	RoleSystem       Role = "system"       // the server's own account: health and monitoring
)

// User is one set of credentials.
type User struct {
	Role     Role
	Tenant   string // of a client, else empty
	Group    string // of a runner, else empty
	Name     string
	Password string // in clear: the configuration has only its hash

	publish   []string
	subscribe []string
	respond   bool // may answer what it was asked, wherever the answer goes
}

// Configuration is a server configuration and the credentials that fit it.
type Configuration struct {
	Text   string // accounts, to be included by a server's own file
	Routes string // to be included in the cluster block of each server of a cluster
	Users  []User
}

// User is the user of that name.
func (c Configuration) User(name string) (User, bool) {
	i := slices.IndexFunc(c.Users, func(u User) bool { return u.Name == name })
	if i < 0 {
		return User{}, false
	}
	return c.Users[i], true
}

// Generate makes the configuration. All problems of cfg are reported at once.
func Generate(cfg Config) (Configuration, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return Configuration{}, fmt.Errorf("roles: %w", err)
	}
	return cfg.configuration(cfg.accounts())
}

func (cfg Config) configuration(accounts []account) (Configuration, error) {
	users := credentials(accounts, cfg.Passwords)
	text, err := render(accounts)
	if err != nil {
		return Configuration{}, fmt.Errorf("roles: %w", err)
	}
	c := Configuration{Text: text, Routes: renderRoutes(cfg.unroutable()), Users: users}
	if err := c.configure(&server.Options{}); err != nil {
		return Configuration{}, fmt.Errorf("roles: %w", err) // what is given out, a server takes
	}
	return c, nil
}

// Configure gives the options of an embedded server the accounts, the users and
// the permissions of routes, in the place of any that were there; everything else
// stays. It fits embedded.Options.
func (c Configuration) Configure(o *server.Options) {
	if err := c.configure(o); err != nil {
		panic(err) // Generate has tried it
	}
}

func (c Configuration) configure(o *server.Options) error {
	var parsed server.Options
	if err := parsed.ProcessConfigString(c.Text + "cluster: {\n" + c.Routes + "}\n"); err != nil {
		return err
	}
	o.Accounts, o.Users, o.SystemAccount = parsed.Accounts, parsed.Users, parsed.SystemAccount
	o.Cluster.Permissions = parsed.Cluster.Permissions
	return nil
}

func (cfg Config) withDefaults() Config {
	if len(cfg.Tenants) == 0 {
		cfg.Tenants = []string{DefaultTenant}
	}
	if len(cfg.Groups) == 0 {
		cfg.Groups = []string{DefaultGroup}
	}
	if cfg.Shards == 0 {
		cfg.Shards = DefaultShards
	}
	return cfg
}

func (cfg Config) validate() error {
	var errs []error
	if cfg.Shards < 1 {
		errs = append(errs, fmt.Errorf("%d shards: want at least 1", cfg.Shards))
	}
	for _, tenant := range cfg.Tenants {
		if err := (events.Key{Tenant: tenant, Chat: "x"}).Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, group := range cfg.Groups {
		if err := protocol.ValidateGroup(group); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, once("tenant", cfg.Tenants), once("group", cfg.Groups))...)
}

func once(what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("%s %q is named twice", what, name)
		}
		seen[name] = true
	}
	return nil
}
