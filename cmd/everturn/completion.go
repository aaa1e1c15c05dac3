package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand is `everturn completion`.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Each script asks this binary what could follow, so it stays true when the
// commands change.
const (
	bashCompletion = `# source <(everturn completion bash)
_everturn() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(everturn __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _everturn everturn
`
	zshCompletion = `#compdef everturn
# source <(everturn completion zsh), or save it as _everturn in a folder of $fpath
_everturn() {
  local -a found
  found=("${(@f)$(everturn __complete "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a found || _files
}
if [ "$funcstack[1]" = "_everturn" ]; then _everturn "$@"; else compdef _everturn everturn; fi
`
	fishCompletion = `# everturn completion fish | source
complete -c everturn -a '(everturn __complete (commandline -opc)[2..] 2>/dev/null)'
`
)

// Run implements the command.
func (c *completionCommand) Run(s *surroundings) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(s.stdout, script)
	return err
}

// completeCommand is what the scripts ask: which words could follow those that
// stand there already.
type completeCommand struct {
	Words []string `arg:"" optional:""`
}

// Run implements the command.
func (c *completeCommand) Run(s *surroundings) error {
	_, err := fmt.Fprintln(s.stdout, strings.Join(candidates(s.parsed.Model.Node, c.Words), "\n"))
	return err
}

// candidates are the words that could follow.
func candidates(node *kong.Node, words []string) []string {
	var wanting *kong.Flag // the flag whose value comes next
	for _, word := range words {
		if wanting != nil {
			wanting = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			wanting = wants(node, word)
			continue
		}
		for _, child := range node.Children {
			if child.Name == word && child.Type == kong.CommandNode {
				node = child
				break
			}
		}
	}
	if wanting != nil {
		return values(wanting.Value)
	}
	var found []string
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			found = append(found, child.Name)
		}
	}
	for _, argument := range node.Positional {
		found = append(found, values(argument)...)
	}
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			found = append(found, "--"+flag.Name)
		}
	}
	return found
}

// wants is the flag that a word names and that takes its value from the next.
func wants(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(false) {
		for _, flag := range group {
			named := word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short)
			if named && !flag.IsBool() {
				return flag
			}
		}
	}
	return nil
}

// values are those that a value can have, if they can be told.
func values(v *kong.Value) []string {
	var found []string
	for _, word := range v.EnumSlice() {
		if word != "" {
			found = append(found, word)
		}
	}
	return found
}
