package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// watchEvery is how often it is looked what a command uses. What grows faster
// than its limit in that time is bounded by the limits of each process.
const watchEvery = 50 * time.Millisecond

// watch ends the world when its processes use more than they may together: the
// kernel bounds only each of them, where no control group is given to us.
func (h *holder) watch() {
	for range time.Tick(watchEvery) {
		count, memory := usage()
		switch {
		case count > h.order.Limits.Processes:
			h.end(fmt.Sprintf("more than %d processes", h.order.Limits.Processes))
		case memory > h.order.Limits.Memory:
			h.end(fmt.Sprintf("more than %d MiB of memory", h.order.Limits.Memory>>20))
		}
	}
}

// end kills everybody by ending the first process.
func (h *holder) end(limit string) {
	h.say(report{Limit: limit})
	os.Exit(1)
}

// usage counts what processes other than this one have: threads, and bytes of
// memory that no file of a disk stands for.
func usage() (threads int, memory int64) {
	folder, err := os.Open("/proc")
	if err != nil {
		return 0, 0
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1) // as many as there are: the rest ends meanwhile
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || pid == 1 {
			continue
		}
		status, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil {
			continue // it has ended
		}
		count := max(1, int(field(status, "Threads:")))
		threads += count
		if count > 1 && !bytes.Contains(status, []byte(memoryField)) {
			status = ofAnotherThread(name)
		}
		memory += (field(status, memoryField) + field(status, "RssShmem:") + field(status, "VmSwap:")) << 10
	}
	return threads, memory
}

// memoryField is in the status of all that have memory.
const memoryField = "RssAnon:"

// ofAnotherThread is the status of a process whose first thread has ended before
// the others: of that one the kernel tells nothing about memory.
func ofAnotherThread(process string) []byte {
	threads, err := os.ReadDir("/proc/" + process + "/task")
	if err != nil {
		return nil // it has ended
	}
	for _, thread := range threads {
		status, err := os.ReadFile("/proc/" + process + "/task/" + thread.Name() + "/status")
		if err == nil && bytes.Contains(status, []byte(memoryField)) {
			return status
		}
	}
	return nil
}

// field is the number that a line of a status file begins with.
func field(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		if words := bytes.Fields(rest); len(words) > 0 {
			n, _ := strconv.ParseInt(string(words[0]), 10, 64) // the kernel's own
			return n
		}
	}
	return 0
}
