package sim

import (
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// In some runs tools give as much to read as they may, and models go on calling
// them, until old outputs are left out of what models are shown.
const (
	readsOnceIn      = 16
	readingMessages  = 60 // of a conversation, from which on no tool is called
	readingWindow    = 130_000
	charsOfToken     = 4
	readingTextBytes = events.MaxResultBytes
)

// readsMuch reports whether a run of that seed is one of them. What is drawn for it
// changes nothing of what is said in any other.
func readsMuch(seed uint64) bool { return draws(seed, "reads").IntN(readsOnceIn) == 0 }

func readingWindows() map[string]chat.Window {
	return map[string]chat.Window{modelCalls: {Tokens: readingWindow}}
}

func muchToRead() string { return strings.Repeat("much to read. ", readingTextBytes/14) }

// tokensOf is about what a request takes, as a provider counts it.
func tokensOf(r model.Request) int64 {
	n := 0
	for _, m := range r.Messages {
		for _, result := range m.Results {
			for _, p := range result.Parts {
				n += len(p.Text)
			}
		}
	}
	return int64(n / charsOfToken)
}
