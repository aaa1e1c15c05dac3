package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli"
)

func TestToolsAreShownAndForgotten(t *testing.T) {
	t.Parallel()
	b := dev(t)
	says(t, "the list", b.must("tools").out, "NAME", "GROUP", "current_time", "builtin", "allow", "write_file", "ask")
	first, _, _ := strings.Cut(b.must("tools", "list", "--json").out, "\n")
	var one struct{ Name, Group, Manifest, Policy, Runner, At string }
	if err := json.Unmarshal([]byte(first), &one); err != nil || one.Name != "current_time" || one.Manifest == "" || one.Runner == "" || one.At == "" {
		t.Errorf("listed as JSON: %+v, %v", one, err)
	}
	b.refused(cli.ExitNotFound, "no tool", "tools", "forget", "current_time", "--group", "other")
	b.must("tools", "forget", "current_time", "--group", "builtin")
	b.refused(cli.ExitNotFound, "`everturn tools` shows", "tools", "forget", "current_time")
	if list := b.must("tools").out; strings.Contains(list, "current_time") || !strings.Contains(list, "read_file") {
		t.Errorf("then the list is %s", list)
	}
}

// Who approved a call of a tool that was turned off would wait for nobody.
func TestDevOffersNothingThatItWasStartedWithBefore(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	t.Run("with", func(t *testing.T) {
		b := devWith(t, "--store", store)
		says(t, "the list", b.must("tools").out, "write_file")
	})
	b := devWith(t, "--store", store, "--no-write")
	if list := b.must("tools").out; strings.Contains(list, "write_file") || !strings.Contains(list, "read_file") {
		t.Errorf("without it the list is %s", list)
	}
}

// Pages are fetched where somebody said so, and nowhere else.
func TestPagesAreFetchedIfSomebodySaysSo(t *testing.T) {
	t.Parallel()
	if list := dev(t).must("tools").out; strings.Contains(list, "fetch_url") {
		t.Errorf("unasked the list is %s", list)
	}
	says(t, "the list", devWith(t, "--fetch", "--fetch-allow", "wiki.example").must("tools").out, "fetch_url")
}
