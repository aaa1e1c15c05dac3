package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/roles"
	"github.com/everturn/everturn/internal/systemd"
)

// storeFlags say where an embedded server keeps its data and listens.
type storeFlags struct {
	Store string     `type:"path" env:"EVERTURN_STORE" placeholder:"DIR" help:"Where the data is kept. Default: the user's data folder."`
	Host  string     `default:"127.0.0.1" help:"Address to listen on."`
	Port  portNumber `env:"EVERTURN_PORT" default:"4222" help:"Port to listen on; 0 takes a free one."`
}

const (
	folderMode   = 0o700
	secretMode   = 0o600
	passwordFile = "password"
)

// place is where the store's folder is or will be.
func (f storeFlags) place() (string, error) {
	if f.Store != "" {
		return f.Store, nil
	}
	base := os.Getenv("XDG_DATA_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no --store given, and %w", err)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "everturn"), nil
}

// folder is the store's folder, made if it is not there.
func (f storeFlags) folder() (string, error) {
	folder, err := f.place()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return "", misplaced(fmt.Errorf("store: %w", err))
	}
	return folder, nil
}

// misplaced is why a server did not start, with its exit code: that something
// cannot be kept or listened for at a place is for whoever named the place.
func misplaced(err error) error {
	if errors.Is(err, embedded.ErrStoreInUse) || errors.Is(err, embedded.ErrPortTaken) ||
		errors.As(err, new(*net.OpError)) || errors.As(err, new(*fs.PathError)) {
		return cli.Exit(cli.ExitUsage, err)
	}
	return err
}

// start runs the embedded server with a password that stays the same from one
// start to the next, so that what was connected once connects again.
func (f storeFlags) start(ctx context.Context, s *surroundings, configure func(*server.Options)) (*embedded.Server, error) {
	folder, err := f.folder()
	if err != nil {
		return nil, err
	}
	o := embedded.Options{
		Store: folder, Host: f.Host, Port: int(f.Port),
		Logger: s.log.Logger(s.stderr), Configure: configure,
	}
	if known, err := os.ReadFile(filepath.Join(folder, passwordFile)); err == nil {
		o.Password = strings.TrimSpace(string(known))
	}
	running, err := embedded.Start(ctx, o)
	if err != nil {
		return nil, misplaced(err)
	}
	if _, password := running.Credentials(); password != "" && password != o.Password { // with --auth there is none
		if err := os.WriteFile(filepath.Join(folder, passwordFile), []byte(password+"\n"), secretMode); err != nil {
			return nil, errors.Join(fmt.Errorf("store: %w", err), running.Close())
		}
	}
	return running, nil
}

// address is the server's URL with what is needed to connect.
func address(running *embedded.Server) string {
	user, password := running.Credentials()
	return strings.Replace(running.URL(), "nats://", "nats://"+user+":"+password+"@", 1)
}

// address says where a server can be reached: as a text, or as JSON.
func (s *surroundings) address(url, text string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.stdout).Encode(map[string]string{"nats_url": url})
	}
	_, err := fmt.Fprint(s.stdout, text)
	return err
}

// serverCommand is `everturn server`.
type serverCommand struct {
	storeFlags

	JSON    bool     `help:"Print the server's address, or each user of --auth, as one JSON object."`
	Auth    bool     `help:"Give clients, tool runners and services accounts of their own, and write their credentials into the store."`
	Tenants []string `default:"default" help:"With --auth: tenants to make accounts for."`
	Groups  []string `default:"builtin" help:"With --auth: groups of tool runners to make accounts for."`
}

// Run implements the command.
func (c *serverCommand) Run(s *surroundings) error {
	if c.Auth {
		return c.withRoles(s)
	}
	running, err := c.start(s.ctx, s, nil)
	if err != nil {
		return err
	}
	url := address(running)
	if err := s.address(url, "export NATS_URL="+url+"\n", c.JSON); err != nil {
		return errors.Join(err, running.Close())
	}
	return serve(s, running)
}

// rolesFolder holds the server configuration and credentials of --auth, below the store.
const rolesFolder = "roles"

// withRoles runs the server with an account for each kind of user. Passwords
// stay the same from one start to the next.
func (c *serverCommand) withRoles(s *surroundings) error {
	folder, err := c.folder()
	if err != nil {
		return err
	}
	dir := filepath.Join(folder, rolesFolder)
	known, err := roles.Passwords(dir)
	if err != nil {
		return err
	}
	configuration, err := roles.Generate(roles.Config{Tenants: c.Tenants, Groups: c.Groups, Passwords: known})
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	running, err := c.start(s.ctx, s, configuration.Configure)
	if err != nil {
		return err
	}
	err = configuration.Write(dir, running.URL())
	if err == nil {
		err = c.users(s.stdout, configuration, dir)
	}
	if err != nil {
		return errors.Join(err, running.Close())
	}
	return serve(s, running)
}

// users says who may connect, and with which context.
func (c *serverCommand) users(w io.Writer, configuration roles.Configuration, dir string) error {
	if !c.JSON {
		return configuration.Print(w, dir)
	}
	out := json.NewEncoder(w)
	for _, u := range configuration.Users {
		err := out.Encode(struct {
			User    string     `json:"user"`
			Role    roles.Role `json:"role"`
			Context string     `json:"context"`
		}{u.Name, u.Role, u.ContextFile(dir)})
		if err != nil {
			return err
		}
	}
	return nil
}

// serve says that the server is ready, and closes it at the end.
func serve(s *surroundings, running *embedded.Server) error {
	if err := systemd.Ready(s.ctx); err != nil {
		return errors.Join(err, running.Close())
	}
	<-s.ctx.Done()
	return running.Close()
}
