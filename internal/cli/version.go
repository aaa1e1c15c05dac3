package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// VersionFlag is --version. Hand [Version] to [Parse] with it.
type VersionFlag struct {
	Version kong.VersionFlag `help:"Show the version of this binary and end."`
}

// Version is what --version shows: the release that the linker has stamped into
// the binary, or what Go knows about a build without a release.
func Version(name, version, commit, date string) kong.Vars {
	if commit == "" {
		commit, date = built()
	}
	words := []string{name, version}
	for _, word := range []string{commit, date, runtime.Version()} {
		if word != "" {
			words = append(words, word)
		}
	}
	return kong.Vars{"version": strings.Join(words, " ")}
}

// built is the commit and its time as Go notes them when it builds in a clone.
func built() (commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.time":
			date = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				commit += "+changes"
			}
		}
	}
	return commit, date
}
