package main

import (
	"os"
	"strings"
	"testing"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// The launcher of these tests, set once before any of them.
var launcher sandbox.Launcher

// asCommand is the variable that makes a copy of the tests the command itself: a process
// of its own, with streams of its own.
const asCommand = "TEST_AS_EVERTURN"

// TestMain takes away what whoever runs the tests has set for themselves.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	launcher = sandbox.Enter()
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range []string{"EVERTURN_", "NATS_", "ANTHROPIC_", "OPENAI_"} {
			if strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name) // a name that was there is one that can be unset
			}
		}
	}
	m.Run()
}
