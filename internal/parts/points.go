//go:build !crashpoints

package parts

import (
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/toolrunner"
)

// orchestratorPoints is where a build with the tag crashpoints puts points to
// die at. This build has none.
func orchestratorPoints(b orchestrator.Bus, m orchestrator.Models) (orchestrator.Bus, orchestrator.Models, error) {
	return b, m, nil
}

// runnerPoints is the same for a tool runner.
func runnerPoints(b toolrunner.Bus, list []toolrunner.Tool) (toolrunner.Bus, []toolrunner.Tool, error) {
	return b, list, nil
}
