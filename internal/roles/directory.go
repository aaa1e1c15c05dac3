package roles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

const (
	accountsFile  = "accounts.conf"
	routesFile    = "routes.conf"
	contextSuffix = ".json"

	directoryMode = 0o700
	fileMode      = 0o600
)

// natsContext is a connection in the form of the nats command line and of every
// --context flag here.
type natsContext struct {
	Description string `json:"description"`
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
}

// Passwords reads back what [Configuration.Write] left in the directory, for
// [Config.Passwords]. A directory that does not exist has none.
func Passwords(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+contextSuffix))
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	known := make(map[string]string, len(files))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		var c natsContext
		if err := json.Unmarshal(content, &c); err != nil {
			return nil, fmt.Errorf("credentials: %s is no context", file)
		}
		known[c.User] = c.Password
	}
	return known, nil
}

// Write leaves the configuration and one context for each user in the directory,
// readable by nobody else. The url is where clients find the server.
func (c Configuration) Write(dir, url string) error {
	if err := os.MkdirAll(dir, directoryMode); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	for file, text := range map[string]string{accountsFile: c.Text, routesFile: c.Routes} {
		if err := replace(filepath.Join(dir, file), []byte(text)); err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
	}
	for _, u := range c.Users {
		content, err := json.MarshalIndent(natsContext{u.description(), url, u.Name, u.Password}, "", "  ")
		if err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
		if err := replace(u.ContextFile(dir), append(content, '\n')); err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
	}
	return nil
}

// Print lists who may connect and the context of each in the directory. It
// prints no password.
func (c Configuration) Print(w io.Writer, dir string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, u := range c.Users {
		if _, err := fmt.Fprintf(table, "%s\t%s\t--context %s\n", u.Name, u.description(), u.ContextFile(dir)); err != nil {
			return err
		}
	}
	return table.Flush()
}

// ContextFile is where [Configuration.Write] puts the user's context.
func (u User) ContextFile(dir string) string { return filepath.Join(dir, u.Name+contextSuffix) }

func (u User) description() string {
	what := map[Role]string{
		RoleClient:       "commands, queries and the feed of tenant " + u.Tenant,
		RoleRunner:       "calls of group " + u.Group,
		RoleOrchestrator: "decides and asks models",
		RoleProjection:   "answers queries",
		RoleGateway:      "speaks for all tenants",
		RoleWebhook:      "sends webhooks",
		RoleOperator:     "makes streams, reads everything",
		RoleSystem:       "watches the server",
	}
	return what[u.Role]
}

// replace writes a file that nobody ever sees half written or readable by others.
func replace(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if rm := os.Remove(f.Name()); err == nil && !errors.Is(rm, fs.ErrNotExist) {
			err = rm
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(fileMode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
