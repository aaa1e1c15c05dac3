package orchestrator

import (
	"sync"
)

// Numbers of the rule for commands that cannot be decided.
const (
	maxFaults        = 3    // the third sets a command aside
	durableFrom      = 8    // delivery from which tries are noted where they outlive the process
	faultsRemembered = 4096 // commands, the newest
)

// faults counts, for each command, how often deciding it ended in a fault of
// ours: a panic, or bytes that nobody can make a commit of. Neither a conflict
// nor storage that is away is one, nor a version this release does not know.
//
// A try that ends with the process counts too: it leaves a note in the store,
// made before the try. A note is taken back when the try did no harm, and none is
// made for a command whose deciding this process has survived; or a store that
// is away for long would in the end condemn everything that waits for it.
type faults struct {
	mu       sync.Mutex
	commands map[string]*record
	order    []string // oldest first
}

type record struct {
	faults   int
	survived bool
}

func newFaults() *faults { return &faults{commands: make(map[string]*record)} }

// add counts a fault and gives how many there are.
func (f *faults) add(command string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record(command)
	r.faults++
	r.survived = false
	return r.faults
}

// survive remembers that deciding the command did this process no harm.
func (f *faults) survive(command string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record(command).survived = true
}

// of tells what is known of the command.
func (f *faults) of(command string) record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.commands[command]; r != nil {
		return *r
	}
	return record{}
}

// forget drops what is known, once the command is decided.
func (f *faults) forget(command string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.commands[command]; r != nil {
		*r = record{} // its place in the order goes when its time comes
	}
}

func (f *faults) record(command string) *record {
	if r := f.commands[command]; r != nil {
		return r
	}
	if len(f.order) == faultsRemembered {
		delete(f.commands, f.order[0])
		f.order = f.order[1:]
	}
	r := &record{}
	f.commands[command] = r
	f.order = append(f.order, command)
	return r
}
