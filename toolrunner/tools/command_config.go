package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// CommandConfig says which commands are offered, and how they are held. Zero
// values mean none.
type CommandConfig struct {
	// Commands offers run_command and run_shell, whose calls are approved one by one.
	Commands bool `help:"Also offer run_command and run_shell, which run programs in a sandbox. Each call waits for approval, where the chat's mode leaves that to the tool."`

	// AllowCommand offers commands that run without anybody being asked, see [ParseAllowed].
	AllowCommand []string `sep:"none" placeholder:"NAME=[\"PROGRAM\",...]" help:"Also offer run_NAME, which runs exactly this command unasked. It can write nothing."`

	// CommandRead lists folders that commands may read beside the workspace and the
	// system's own.
	CommandRead []string `type:"existingdir" placeholder:"DIR" help:"Let commands read this folder, and run programs in it, beside the workspace and the system's own."`

	// CommandEnv names variables of this process that commands get. They get no others.
	CommandEnv []string `placeholder:"NAME" help:"Hand this variable on to commands. They see no others of this process."`

	// CommandTime is what a call may ask for at most.
	CommandTime time.Duration `default:"10m" placeholder:"DURATION" help:"The longest time a call may give its command."`

	// Sandbox off runs commands with all rights of this process's user. Somebody
	// must say so.
	Sandbox string `enum:"on,off" default:"on" help:"off runs commands without a sandbox, with all rights of the user of this process."`
}

// sandboxOff is the one value of [CommandConfig.Sandbox] that changes anything.
const sandboxOff = "off"

// Off says that nothing that this process runs for a model is held by a sandbox.
func (c CommandConfig) Off() bool { return c.Sandbox == sandboxOff }

// Validate says everything that is wrong with the configuration, or nil.
func (c CommandConfig) Validate() error {
	var errs []error
	for _, s := range c.AllowCommand {
		if _, err := ParseAllowed(s); err != nil {
			errs = append(errs, fmt.Errorf("--allow-command: %w", err))
		}
	}
	if len(c.AllowCommand) > 0 && c.Off() {
		errs = append(errs, errors.New("--allow-command: a command that runs unasked needs the sandbox; --sandbox=off takes it away"))
	}
	if c.CommandTime != 0 && (c.CommandTime < time.Second || c.CommandTime > maxCommandTime) {
		errs = append(errs, fmt.Errorf("--command-time: want 1s to %v", maxCommandTime))
	}
	return errors.Join(errs...)
}

// maxCommandTime is the most that an operator can allow.
const maxCommandTime = 12 * time.Hour

// Open gives the tools that are asked for. If there are any, it tries out
// whether commands can be held here, and fails if they cannot.
func (c CommandConfig) Open(ctx context.Context, l sandbox.Launcher, workspace string) ([]toolrunner.Tool, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !c.Commands && len(c.AllowCommand) == 0 {
		return nil, nil
	}
	cfg := sandbox.Config{Workspace: workspace, Read: c.CommandRead, Off: c.Off()}
	for _, name := range c.CommandEnv {
		if value, ok := os.LookupEnv(name); ok {
			cfg.Environment = append(cfg.Environment, name+"="+value)
		}
	}
	box, err := sandbox.Open(ctx, l, cfg)
	if errors.Is(err, sandbox.ErrUnavailable) {
		return nil, fmt.Errorf("%w\n--sandbox=off runs commands without one, with all rights of this user", err)
	}
	if err != nil {
		return nil, err
	}
	return c.tools(box)
}

func (c CommandConfig) tools(box *sandbox.Sandbox) (offered []toolrunner.Tool, err error) {
	if c.Commands {
		offered = append(offered, RunCommand(box, c.CommandTime), RunShell(box, c.CommandTime))
	}
	for _, s := range c.AllowCommand {
		allowed, err := ParseAllowed(s)
		if err != nil {
			return nil, err
		}
		tool, err := RunAllowed(box, allowed, c.CommandTime)
		if err != nil {
			return nil, err
		}
		offered = append(offered, tool)
	}
	return offered, nil
}
