package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// Set by the linker in a release.
var (
	version = "0.0.0-development"
	commit  = ""
	date    = ""
)

// VersionFlag is --version. [Parse] knows what it shows.
type VersionFlag struct {
	Version kong.VersionFlag `help:"Show the version of this binary and end."`
}

// Release says what this binary was built from.
type Release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
}

// Built is the release that the linker has stamped into the binary, or what Go
// knows about a build without a release.
func Built() Release {
	r := Release{Version: version, Commit: commit, Date: date, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && r.Commit == "" {
		r.fromClone(info.Settings)
	}
	return r
}

// fromClone fills in the commit and its time as Go notes them when it builds in
// a clone.
func (r *Release) fromClone(settings []debug.BuildSetting) {
	for _, setting := range settings {
		switch setting.Key {
		case "vcs.revision":
			r.Commit = setting.Value
		case "vcs.time":
			r.Date = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				r.Commit += "+changes"
			}
		}
	}
}

// String is what --version shows after the name.
func (r Release) String() string {
	var words []string
	for _, word := range []string{r.Version, r.Commit, r.Date, r.Go} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
