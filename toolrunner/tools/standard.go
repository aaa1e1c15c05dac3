package tools

import (
	"time"

	"github.com/everturn/everturn/toolrunner"
)

// Standard is every tool of this package that only reads.
func Standard(w *Workspace, clock func() time.Time) []toolrunner.Tool {
	return []toolrunner.Tool{CurrentTime(clock), ListDirectory(w), ReadFile(w), SearchFiles(w)}
}
