//go:build !linux

package bench

import (
	"errors"
	"time"
)

// errNotLinux is what a bench ends with, at once, where it cannot measure.
var errNotLinux = errors.New("bench: what processes have used is read from /proc, which only Linux has: run it there")

func processCPU(int) (time.Duration, error) { return 0, errNotLinux }

func processResident(int) (int64, error) { return 0, errNotLinux }
