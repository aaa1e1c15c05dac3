package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// Limits of names. Providers of models take no longer ones.
const (
	maxServerName = 200
	maxName       = 64
	maxPrefix     = 24 // of a server in the names of its tools
	hashDigits    = 8
	separator     = "__"
)

// plain is text with _ in place of what no name of a tool may have.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, text)
}

// short is a part of the digest of a name.
func short(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// prefix is a server's name in those of its tools. It holds no separator and does not
// end with a part of one, so tools of two servers never have the same name.
func prefix(server string) string {
	text := plain(server)
	for strings.Contains(text, separator) {
		text = strings.ReplaceAll(text, separator, "_")
	}
	text = strings.Trim(text, "_")
	if text == "" || len(text) > maxPrefix {
		text = strings.Trim(text[:min(len(text), maxPrefix-hashDigits-1)]+"-"+short(server), "_")
	}
	return text
}

// published gives the names that the tools of a server are offered under, which is
// the same each time: <server>__<tool>. Where that is too long, or would be that of
// another one too, a part of the digest of the tool's own name stands at its end.
func published(server string, tools []string) map[string]string {
	before := prefix(server) + separator
	count := map[string]int{}
	for _, tool := range tools {
		count[before+plain(tool)]++
	}
	names := map[string]string{}
	for _, tool := range tools {
		name := before + plain(tool)
		if len(name) > maxName || count[name] > 1 && plain(tool) != tool {
			name = name[:min(len(name), maxName-hashDigits-1)] + "_" + short(tool)
		}
		names[tool] = name
	}
	return names
}

// isPattern says whether text can be matched with names.
func isPattern(text string) bool {
	_, err := path.Match(text, "")
	return text != "" && err == nil
}

// matches says whether one of the patterns means the tool.
func matches(patterns []string, tool string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, tool)
		return err == nil && ok
	})
}
