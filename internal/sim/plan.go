package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault is a kind of thing that goes wrong.
type fault int

// The kinds. Which of them a run has is drawn.
const (
	faultCrash     fault = iota // a process dies, now or right after an effect
	faultStop                   // a process is told to end, and does in its own time
	faultPause                  // a process stands still and goes on later
	faultRefuse                 // an operation fails without effect
	faultConflict               // an append is refused though nobody else wrote
	faultLose                   // an operation has its effect and fails
	faultLate                   // an operation fails and has its effect later
	faultDrop                   // a request, an answer or a signal is lost
	faultTwice                  // a request comes twice; a message is delivered again though somebody has it
	faultSnapshots              // a snapshot is old, or not of this log
	faultMisplace               // the server loses a message that it had acknowledged, or sight of a command
	faultSkew                   // clocks differ, within what is allowed
	faultJump                   // clocks differ by more than is allowed
	faultDelay                  // time passes while operations wait
	faultResend                 // a client publishes a command again
	faultUpgrade                // runners come back with other manifests
	faultModel                  // models fail
	faultTool                   // tools fail, hang and panic
	faults
)

var faultNames = [faults]string{
	"crash", "stop", "pause", "refuse", "conflict", "lose", "late", "drop", "twice", "snapshots", "misplace", "skew", "jump",
	"delay", "resend", "upgrade", "model", "tool",
}

func (f fault) String() string { return faultNames[f] }

// plan is what a seed says about a whole run, before it begins.
type plan struct {
	seed    uint64
	on      [faults]bool
	rate    float64  // of faults, per operation
	process float64  // of things that happen to whole processes, per operation
	delay   float64  // of letting time pass, per operation
	hurry   float64  // of a client's next command, per operation
	span    int      // operations until nothing goes wrong any more
	most    int      // faults in all
	only    []string // prefixes of the operations that faults befall; none: all
	ackWait time.Duration
	chats   int
	slow    map[string]float64 // weight of a process's operations

	badModel float64 // share of what models are asked that fails
}

// Shares of the runs, in hundredths.
const (
	calmShare    = 5  // nothing goes wrong
	roughShare   = 3  // nearly everything goes wrong, for long
	networkShare = 15 // one or two messages are lost, and nothing else goes wrong: all must come out right
)

// maxFaults is more than a run ever has.
const maxFaults = 1_000_000

// draws is a source of numbers for one purpose: what is drawn for one does not
// change what is drawn for another.
func draws(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // a hash never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// numbered is a source for the n-th of many things of one name.
func numbered(seed uint64, name string, n int) *rand.Rand {
	return draws(seed, name+"#"+strconv.Itoa(n))
}

func newPlan(seed uint64) plan {
	r := draws(seed, "plan")
	p := plan{
		seed: seed, span: 100 + r.IntN(500), chats: 1 + r.IntN(3), slow: map[string]float64{},
		rate:    pick(r, 0.003, 0.01, 0.03, 0.1),
		process: pick(r, 0.002, 0.005, 0.02),
		delay:   pick(r, 0.005, 0.02, 0.1),
		hurry:   pick(r, 0.01, 0.03, 0.1),
		most:    maxFaults,
		ackWait: pick(r, 2*time.Second, 2*time.Second, 5*time.Second, 15*time.Second),
	}
	switch share := r.IntN(100); {
	case share < calmShare:
	case share < calmShare+networkShare:
		for _, f := range []fault{faultRefuse, faultLose, faultDrop, faultConflict} {
			p.on[f] = r.IntN(3) > 0
		}
		p.most = 1 + r.IntN(2)
		p.rate = max(p.rate, 0.01)
		if r.IntN(2) == 0 { // nothing but what runners ask and are answered
			p.only, p.rate = []string{"runner.claim", "runner.result", "requests."}, 0.1
		}
	default:
		for f := range faults {
			p.on[f] = r.IntN(2) == 0
		}
		p.on[faultJump] = r.IntN(8) == 0
		if share >= 100-roughShare {
			p.rate, p.process, p.span = 0.3, 0.05, 3*p.span
		}
	}
	if p.on[faultModel] {
		p.badModel = pick(r, 0.2, 0.4, 0.7)
	}
	for _, name := range []string{"o1", "o2", "o3", "r1", "r2"} {
		p.slow[name] = pick(r, 1, 1, 1, 0.2, 3)
	}
	return p
}

// calm reports whether nothing goes wrong at all.
func (p plan) calm() bool { return p.on == [faults]bool{} }

// befalls reports whether faults may befall operations of the kind.
func (p plan) befalls(kind string) bool {
	return len(p.only) == 0 || slices.ContainsFunc(p.only, func(prefix string) bool { return strings.HasPrefix(kind, prefix) })
}

// gentle reports whether nearly nothing goes wrong: a message or two are lost,
// but no process ever dies, stands still or is given what somebody else has.
func (p plan) gentle() bool { return p.most < maxFaults }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chance is true with the given probability.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }
