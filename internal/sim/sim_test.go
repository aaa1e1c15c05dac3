package sim

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is run, for people and for make.
var (
	seeds   = flag.Uint64("seeds", 40, "how many `seeds` to run")
	first   = flag.Uint64("first", 1, "the first `seed`")
	workers = flag.Int("workers", 0, "`processes` to run seeds in; 0 is one for each processor")
	verbose = flag.Bool("trace", false, "print the whole trace of a seed that fails, not shrunk")
	inside  = flag.Bool("inside", false, "run the seeds in this very process")
)

// TestSeeds runs seeds, each once, and shrinks the first that fails.
//
// A run takes one processor, so the seeds are spread over processes of one
// processor each.
func TestSeeds(t *testing.T) {
	if *inside {
		runSeeds(t, *first, *seeds)
		return
	}
	n := uint64(*workers)
	if n == 0 {
		n = uint64(runtime.NumCPU())
	}
	n = min(n, *seeds)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		from, to := *first+*seeds*i/n, *first+*seeds*(i+1)/n
		wg.Go(func() {
			out, err := child(t, from, to-from)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("seeds %d to %d: %v\n%s", from, to-1, err, out)
			default:
				t.Log(summary(out))
			}
		})
	}
	wg.Wait()
}

// child runs seeds in a process of its own that has one processor.
func child(t *testing.T, from, n uint64) (string, error) {
	return childWith(t, os.Args[0], from, n)
}

func childWith(t *testing.T, binary string, from, n uint64) (string, error) {
	args := []string{
		"-test.run=^TestSeeds$", "-test.v", "-test.timeout=0", "-inside",
		"-first=" + strconv.FormatUint(from, 10), "-seeds=" + strconv.FormatUint(n, 10),
	}
	if *verbose {
		args = append(args, "-trace")
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

var summaryLine = regexp.MustCompile(`(?m)\d+ seeds, .*$`)

func summary(out string) string { return summaryLine.FindString(out) }

// runSeeds runs seeds one after the other, up to the first that fails.
func runSeeds(t *testing.T, from, n uint64) {
	began := time.Now()
	var operations, faults, commits int
	seen := map[string]int{}
	for seed := from; seed < from+n; seed++ {
		fmt.Fprintf(os.Stderr, "\rseed %d ", seed) // what a crash of the process leaves behind
		report := Run(t, Options{Seed: seed})
		operations, faults, commits = operations+report.Operations, faults+report.Faults, commits+report.Commits
		for what, n := range report.Seen {
			seen[what] += n
		}
		if len(report.Broken) == 0 {
			continue
		}
		if *verbose {
			again := Run(t, Options{Seed: seed, Trace: true})
			t.Fatalf("%s\n%s", report, strings.Join(again.Trace, "\n"))
		}
		fail(t, report)
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
	t.Logf("%d seeds, %d operations, %d faults, %d commits, %v a seed",
		n, operations, faults, commits, (time.Since(began) / time.Duration(n)).Round(time.Microsecond))
}

// fail shrinks a run that failed and says how to see it again.
func fail(t *testing.T, report Report) {
	o := Shrink(t, Options{Seed: report.Seed})
	o.Trace = true
	small := Run(t, o)
	t.Fatalf("%s\nshrunk to faults %v and commands %v:\n%s\n%s\nagain: go test ./internal/sim -run TestSeeds -seeds 1 -first %d",
		report, left(o.WithoutFaults, small.Faults), left(o.WithoutCommands, small.Commands), small,
		strings.Join(small.Trace, "\n"), report.Seed)
}

// A seed is a run: the same number gives the same events in the same order, whatever
// was run before it and on however many processors. The race detector changes on
// purpose who of several runs first, and garbage is collected all the time.
//
// One may differ: docs/ROUGH_EDGES.md says of which kind it is.
func TestRunsRepeat(t *testing.T) {
	const mayDiffer = 1
	differ := 0
	var once []Report
	on(1, func() {
		for seed := *first; seed < *first+*seeds; seed++ {
			once = append(once, Run(t, Options{Seed: seed}))
		}
	})
	on(runtime.NumCPU(), func() {
		defer debug.SetGCPercent(debug.SetGCPercent(20))
		for _, one := range slices.Backward(once) {
			if again := Run(t, Options{Seed: one.Seed}); one.Hash != again.Hash || !slices.Equal(one.Broken, again.Broken) {
				differ++
				t.Logf("seed %d: %d operations and %d commits, then %d and %d\n%s",
					one.Seed, one.Operations, one.Commits, again.Operations, again.Commits, parting(t, one.Seed))
			}
		}
	})
	if differ > mayDiffer {
		t.Errorf("%d runs were not repeated", differ)
	}
}

// on calls do on so many processors.
func on(processors int, do func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	do()
}

// parting says where two runs of a seed part, if they do so once more.
func parting(t *testing.T, seed uint64) string {
	const tries, before = 20, 30
	a := Run(t, Options{Seed: seed, Trace: true}).Trace
	for range tries {
		b := Run(t, Options{Seed: seed, Trace: true}).Trace
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				return fmt.Sprintf("%s\n%s\n--- or\n%s", strings.Join(a[max(0, i-before):i], "\n"), a[i], b[i])
			}
		}
	}
	return "not again"
}
