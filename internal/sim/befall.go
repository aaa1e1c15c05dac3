package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/protocol"
	"github.com/klauspost/compress/s2"
)

// happens counts a fault that is about to happen and says whether it does: one
// that is left out of the run is counted all the same.
func (r *run) happens(f fault) bool {
	if !r.plan.on[f] || r.faults >= r.plan.most {
		return false
	}
	r.faults++
	return !r.options.WithoutFaults[r.faults]
}

// befall lets something happen to a process or to all of them, and says whether
// it did.
func (r *run) befall() bool {
	if r.plan.on[faultDelay] && chance(r.chances, r.plan.delay) {
		if d := r.shortWhile(); r.happens(faultDelay) {
			r.trace.add("time passes", d.String())
			r.sleep(d)
			return true
		}
		return false
	}
	if !chance(r.chances, r.plan.process) {
		return false
	}
	s := pick(r.chances, r.slots...)
	f := pick(r.chances, faultCrash, faultCrash, faultStop, faultPause, faultSkew, faultJump, faultSnapshots, faultMisplace)
	while := time.Duration(1 + r.chances.Int64N(int64(pick(r.chances, time.Second, 5*time.Second, 20*time.Second))))
	offset := time.Duration(r.chances.Int64N(int64(events.Skew))) - events.Skew/2
	if !s.running() || !r.happens(f) {
		return false
	}
	switch f {
	case faultCrash:
		r.trace.add("kill", s.process.Name)
		s.process.Kill()
		r.deaths++
	case faultStop:
		r.trace.add("stop", s.process.Name)
		s.stop()
		r.deaths++ // it may be in the middle of a try
	case faultPause:
		r.trace.add("pause", s.process.Name, while.String())
		s.paused = time.Now().Add(while)
	case faultSkew:
		r.trace.add("clock of", s.name, offset.String())
		s.offset = offset
	case faultJump:
		offset *= 40
		r.trace.add("clock of", s.name, offset.String())
		s.offset = offset
		r.watch.skewed = true
	case faultSnapshots:
		r.lie()
	case faultMisplace:
		r.trace.add("lost:", r.server.Misplace(r.chances.Uint64()))
	default:
		return false
	}
	return true
}

// shortWhile is up to some seconds, mostly less.
func (r *run) shortWhile() time.Duration {
	longest := pick(r.chances, time.Millisecond, 20*time.Millisecond, 200*time.Millisecond, time.Second, 4*time.Second)
	return time.Duration(1 + r.chances.Int64N(int64(longest)))
}

// errFull is what a full stream says.
var errFull = fmt.Errorf("simulated: %w", protocol.ErrStorageFull)

// errConflict is what a server says while another write is under way.
var errConflict = fmt.Errorf("simulated: %w", events.ErrConflict)

// fate draws how an operation goes.
func (r *run) fate(o *operation) membus.Fate {
	f := membus.Fate{}
	draw := r.chances.Uint64()
	if o.expired != nil && (draw%2 == 0 || !r.server.Ready(o.Op)) {
		f.Refuse = o.expired
		return f
	}
	switch o.Kind {
	case "timers.set", "requests.take":
		f.Draw = draw
	case "snapshots.get":
		if r.faulting && draw%3 == 0 && r.happens(faultSnapshots) {
			f.Draw = draw
		}
	}
	if !r.faulting || o.effect != nil || !chance(r.chances, r.plan.rate) {
		return f
	}
	if possible := r.possible(o); len(possible) > 0 {
		r.mishap(pick(r.chances, possible...), r.chances.IntN(5) == 0, &f)
	}
	return f
}

// possible are the faults that can befall the operation in this run.
func (r *run) possible(o *operation) []fault {
	if !r.plan.befalls(o.Kind) {
		return nil
	}
	var of []fault
	switch o.Stage {
	case membus.StageWrite:
		of = []fault{faultRefuse, faultLose, faultLate, faultCrash}
		if o.Kind == "log.append" {
			of = append(of, faultConflict)
		}
	case membus.StageRead:
		of = []fault{faultRefuse}
	case membus.StageReceive:
		of = []fault{faultDrop}
		if o.Kind == "requests.take" {
			of = append(of, faultTwice)
		}
	case membus.StageMust:
		of = []fault{faultRefuse, faultTwice}
	case membus.StageBegin:
	}
	return slices.DeleteFunc(of, func(f fault) bool { return !r.plan.on[f] })
}

// mishap is a fault as the operation's fate.
func (r *run) mishap(what fault, full bool, f *membus.Fate) {
	if !r.happens(what) {
		return
	}
	switch what {
	case faultRefuse:
		f.Refuse = membus.ErrUnavailable
		if full {
			f.Refuse = errFull
		}
	case faultConflict:
		f.Refuse = errConflict
	case faultLose:
		f.Lose = membus.ErrUnavailable
	case faultLate:
		f.Late = membus.ErrUnavailable
	case faultCrash:
		f.Crash = true
	case faultDrop:
		f.Drop = true
	case faultTwice:
		f.Twice = true
	case faultStop, faultPause, faultSnapshots, faultMisplace, faultSkew, faultJump, faultDelay, faultResend, faultUpgrade, faultModel, faultTool, faults:
		panic(fmt.Sprintf("sim: %s befalls no operation", what))
	}
}

// lie puts a snapshot in place of a chat's newest that is of the same commit in
// another history: all fits but the hash.
func (r *run) lie() {
	for _, k := range r.server.Chats() {
		r.server.EditSnapshot(k, chat.FoldVersion, func(content []byte) []byte {
			forged, err := forge(content)
			if err != nil {
				r.breaks("snapshot of %s: %v", k, err)
				return content
			}
			r.trace.add("a snapshot lies", k.Chat)
			return forged
		})
	}
}

// forge gives a snapshot another history, under a checksum that fits.
func forge(content []byte) ([]byte, error) {
	b, err := s2.Decode(nil, content)
	if err != nil {
		return nil, err
	}
	read := json.NewDecoder(bytes.NewReader(b))
	read.UseNumber()
	var snapshot map[string]any
	if err := read.Decode(&snapshot); err != nil {
		return nil, err
	}
	state, ok := snapshot["state"].(map[string]any)
	if !ok {
		return nil, errors.New("it holds no state")
	}
	other := events.Hash([]byte("another history"))
	snapshot["hash"], state["prev"] = other, other
	b, err = json.Marshal(state)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%v %v %v %v %v ", snapshot["seq"], snapshot["rev"], other, snapshot["rules"], snapshot["prompt_rules"])
	snapshot["sum"] = crc32.Checksum(append([]byte(head), b...), crc32.MakeTable(crc32.Castagnoli))
	snapshot["state"] = json.RawMessage(b)
	b, err = json.Marshal(snapshot)
	if err != nil {
		return nil, err
	}
	return s2.Encode(nil, b), nil
}
