package bench

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// processCPU is the time a process has had, from the kernel.
func processCPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	var user, system int64
	rest := string(b[strings.LastIndexByte(string(b), ')')+2:]) // behind the name, which may hold anything
	fields := strings.Fields(rest)
	if _, err := fmt.Sscan(fields[11], &user); err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	if _, err := fmt.Sscan(fields[12], &system); err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	const ticks = 100 // per second, on every Linux that Go runs on
	return time.Duration(user+system) * time.Second / ticks, nil
}

// processResident is the memory of a process in bytes.
func processResident(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}
