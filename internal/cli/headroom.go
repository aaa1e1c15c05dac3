package cli

import (
	"os"
	"runtime"
)

// Headroom is how much garbage may gather before it is collected, besides as
// much as there is memory in use: it is what a process may grow by for being
// collected less often. Where little is in use that is worth a lot, since the
// collector otherwise runs for every few megabytes.
type Headroom int

// Headroom of the commands. A turn makes some 100 KB of garbage.
const (
	ServiceHeadroom Headroom = 256 << 20 // what can run an orchestrator or a server; commands that end soon never use it
	RunnerHeadroom  Headroom = 16 << 20  // tool runners, of which a machine may have many
)

// reserve sets the headroom aside until release is called. The memory is never
// touched, so it is none: it only counts where the collector decides when to
// run. Whoever has set GOGC or GOMEMLIMIT has decided that.
func (h Headroom) reserve() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	reserved := make([]byte, h)
	return func() { runtime.KeepAlive(reserved) }
}
