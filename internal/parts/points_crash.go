//go:build crashpoints

package parts

import (
	"os"

	"github.com/everturn/everturn/internal/crash"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/toolrunner"
)

// orchestratorPoints puts points to die at around all effects.
func orchestratorPoints(b orchestrator.Bus, m orchestrator.Models) (orchestrator.Bus, orchestrator.Models, error) {
	p, err := crash.New(os.Getenv)
	if err != nil {
		return b, m, err
	}
	return p.Orchestrator(b), p.Models(m), nil
}

// runnerPoints is the same for a tool runner.
func runnerPoints(b toolrunner.Bus, list []toolrunner.Tool) (toolrunner.Bus, []toolrunner.Tool, error) {
	p, err := crash.New(os.Getenv)
	if err != nil {
		return b, list, err
	}
	return p.Runner(b), p.Tools(list), nil
}
