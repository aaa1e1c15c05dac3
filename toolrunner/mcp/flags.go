package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Flags name the file of servers on a command line.
type Flags struct {
	// MCP is the file; without, there are no servers.
	MCP string `name:"mcp" type:"existingfile" placeholder:"FILE" help:"Also offer the tools of the MCP servers in this file, which has mcpServers as other programs know it. See docs/MCP.md."`
}

// Open gives the servers that are asked for, or nil. Mode is the value of --sandbox.
// Nothing is started yet.
func (f Flags) Open(ctx context.Context, l sandbox.Launcher, workspace, mode string, log *slog.Logger) (*Servers, error) {
	if f.MCP == "" {
		return nil, nil
	}
	file, err := f.load()
	if err != nil {
		return nil, err
	}
	return Open(ctx, file, Config{Launcher: l, Workspace: workspace, SandboxOff: mode == sandboxOff, Log: log})
}

// Validate says everything that is wrong with the file, or nil.
func (f Flags) Validate() error {
	if f.MCP == "" {
		return nil
	}
	_, err := f.load()
	return err
}

func (f Flags) load() (File, error) {
	file, err := Load(f.MCP, os.LookupEnv)
	if err != nil {
		return File{}, fmt.Errorf("--mcp: %w", err)
	}
	return file, nil
}
