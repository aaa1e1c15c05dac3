package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is everything that was measured. Times are in ms.
type Report struct {
	Sync  string `json:"sync"`
	Pairs []Pair `json:"pairs"`

	// Ratios of the medians over all pairs.
	P50Ratio        float64 `json:"p50_ratio"`        // real / floor, sequential
	ThroughputRatio float64 `json:"throughput_ratio"` // real / floor, at the most chats

	Growth []Growth `json:"growth"`
	Load   *Load    `json:"load,omitempty"`
}

// Pair is one run of both, one after the other.
type Pair struct {
	Real  Run `json:"real"`
	Floor Run `json:"floor"`
}

// Run is what one of them did.
type Run struct {
	Sequential Sequential   `json:"sequential"`
	Concurrent []Concurrent `json:"concurrent"`
}

// Sequential is one turn after the other.
type Sequential struct {
	Turns           int     `json:"turns"`
	P50             float64 `json:"p50_ms"`
	P99             float64 `json:"p99_ms"`
	CPU             float64 `json:"cpu_ms_per_turn"` // of the server and every part
	SyncedPublishes float64 `json:"synced_publishes_per_turn"`
	DiskBytes       float64 `json:"disk_bytes_per_turn"`

	// ResidentBytes is the memory of the process and the tool's, with what the
	// caches of the server and of states have kept of these turns.
	ResidentBytes int64 `json:"resident_bytes"`
}

// Concurrent is turns of many chats at once.
type Concurrent struct {
	Chats   int     `json:"chats"`
	Seconds float64 `json:"seconds"`
	Turns   int     `json:"turns"`
	PerSec  float64 `json:"turns_per_second"`
	CPU     float64 `json:"cpu_ms_per_turn"`
}

// Growth is the latency of one turn of a chat.
type Growth struct {
	Turn int     `json:"turn"`
	P50  float64 `json:"p50_ms"`
}

// Load is what it takes to have the state of a chat that lies spread among
// others: from asking for its snapshot to having folded its last commit.
//
// The server has the blocks of its store that are read in memory: each
// orchestrator has just looked at the last commit of every chat. With a server
// that must first read them from its files it takes several times as long.
type Load struct {
	Events          int     `json:"events"` // of the chat
	Others          int     `json:"other_events"`
	WithSnapshot    float64 `json:"with_snapshot_ms"` // of its last commit
	Tail            int     `json:"tail_commits"`     // behind an older snapshot
	WithOlder       float64 `json:"with_older_snapshot_ms"`
	WithoutSnapshot float64 `json:"without_snapshot_ms"`
	EventsPerSecond float64 `json:"refold_events_per_second"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile of sorted durations.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func (r *Report) summarize() {
	of := func(pick func(Pair) float64) float64 {
		var all []float64
		for _, p := range r.Pairs {
			all = append(all, pick(p))
		}
		return median(all)
	}
	r.P50Ratio = of(func(p Pair) float64 { return p.Real.Sequential.P50 / p.Floor.Sequential.P50 })
	r.ThroughputRatio = of(func(p Pair) float64 {
		n := len(p.Real.Concurrent) - 1
		return p.Real.Concurrent[n].PerSec / p.Floor.Concurrent[n].PerSec
	})
}

// Print writes the report as a table.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "sync %s\tp50 ms\tp99 ms\tCPU ms\tsynced\tdisk B\tRSS MiB\t", r.Sync)
	for _, c := range r.Pairs[0].Real.Concurrent {
		fmt.Fprintf(t, "turns/s @%d\t", c.Chats)
	}
	fmt.Fprintln(t)
	for i, p := range r.Pairs {
		line(t, fmt.Sprintf("everturn %d", i+1), p.Real)
		line(t, fmt.Sprintf("floor %d", i+1), p.Floor)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\np50 is %.2f times the floor's; turns/s at the most chats %.2f of the floor's (medians of %d pairs)\n",
		r.P50Ratio, r.ThroughputRatio, len(r.Pairs))
	for _, g := range r.Growth {
		fmt.Fprintf(w, "turn %d of a chat: p50 %.3f ms\n", g.Turn, g.P50)
	}
	if l := r.Load; l != nil {
		fmt.Fprintf(w, "a chat of %d events among %d: loaded in %.1f ms with a snapshot, %.1f ms with one that is %d commits old, %.1f ms without; "+
			"refold %.0f events/s\n", l.Events, l.Others, l.WithSnapshot, l.WithOlder, l.Tail, l.WithoutSnapshot, l.EventsPerSecond)
	}
	return nil
}

func line(w io.Writer, name string, r Run) {
	s := r.Sequential
	fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.2f\t%.0f\t%.0f\t", name, s.P50, s.P99, s.CPU, s.SyncedPublishes, s.DiskBytes,
		float64(s.ResidentBytes)/(1<<20))
	for _, c := range r.Concurrent {
		fmt.Fprintf(w, "%.0f\t", c.PerSec)
	}
	fmt.Fprintln(w)
}
