package tools

import (
	"time"

	"github.com/everturn/everturn/toolrunner"
)

// Standard is every tool of this package that only reads the workspace.
func Standard(w *Workspace, clock func() time.Time) []toolrunner.Tool {
	return []toolrunner.Tool{CurrentTime(clock), ListDirectory(w), ReadFile(w), SearchFiles(w)}
}

// Writing is every tool of this package that changes the workspace. Each call of theirs
// waits for somebody to approve it, where the chat's mode leaves that to the tool.
func Writing(w *Workspace) []toolrunner.Tool {
	return []toolrunner.Tool{WriteFile(w), EditFile(w), MoveFile(w), DeleteFile(w)}
}
