package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
)

// Who starts it in the wrong folder, or asks another model than they thought, sees it.
func TestDevSaysWhichFolderAndWhichModelItUses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var errs buffer
	var running sync.WaitGroup
	running.Go(func() {
		s := &surroundings{launcher: launcher, ctx: ctx, stdout: write, stderr: &errs}
		if err := s.run([]string{"dev", "--json", "--store", t.TempDir(), "--port", "0", "--http", "", "--workspace", folder, "--model", "script"}); err != nil {
			t.Errorf("dev: %v", err)
		}
		_ = write.Close()
	})
	_, err := bufio.NewReader(read).ReadBytes('\n')
	said := errs.String()
	cancel()
	running.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"everturn: workspace " + folder + "\n", "everturn: model script\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
}
