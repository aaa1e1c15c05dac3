package sandbox

import (
	"os"
	"time"
)

// A copy of our binary that holds a command has one of these names.
const (
	holderName  = "everturn-sandbox-holder"  // the first process of the command's world
	startedName = "everturn-sandbox-command" // becomes the command
)

// Launcher is the proof that a program has called [Enter].
type Launcher struct{ entered bool }

// Enter is called first thing in main of a program that runs commands, before
// anything is read, opened or started. In a copy that holds a command it does
// not return.
func Enter() Launcher {
	switch os.Args[0] {
	case holderName:
		os.Exit(hold())
	case startedName:
		os.Exit(become())
	}
	return Launcher{entered: true}
}

// Descriptors of a copy, beside the standard ones.
const (
	controlFD = 3 // the order; open as long as the process that wants the command lives
	statusFD  = 4 // reports
)

// order is what a copy is to do.
type order struct {
	Program     string // where ours lies
	Workspace   string
	Read        []string
	Environment []string
	Limits      Limits
	Argv        []string
	Directory   string
	Folder      string // in place of it
	Input       bool   // there is one
	Network     bool
	ReadOnly    bool
	Mapped      bool // there is a user namespace
	Try         bool // do everything but the command
}

// report is one line of what a copy says.
type report struct {
	Layers     []string `json:"layers,omitempty"`
	Unheld     string   `json:"unheld,omitempty"`      // which layer failed, and why; no command has run
	NotStarted string   `json:"not_started,omitempty"` // why the command cannot run
	Lost       string   `json:"lost,omitempty"`        // why it cannot be said how the command ended
	Limit      string   `json:"limit,omitempty"`       // that was reached
	Ended      *ended   `json:"ended,omitempty"`
}

type ended struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
}

// maxHelloWait bounds how long a copy may take to say anything; it takes
// milliseconds.
const maxHelloWait = 10 * time.Second
