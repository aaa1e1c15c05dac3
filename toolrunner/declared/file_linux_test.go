package declared_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
)

func TestAFileSaysEverythingAboutATool(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.write("program", "#!/bin/sh\n", 0o755)
	lib := p.write("lib.sh", "", 0o644)
	p.write("schema.json", `{"type": "object", "required": ["a"]}`, 0o644)
	path := p.write("tools.yaml", `
tools:
  - name: all_of_it
    description: All that can be said.
    schema: schema.json
    command: [./program, --fast, "two words"]
    directory: .
    read: [lib.sh, /usr/share]
    timeout: 1m30s
    read_only: true
    idempotent: true
    parallel: false
    exclusive: true
    stop_after: true
    policy: review
    network: true
    environment: {B: two, A: 1}
    pass_environment: [HOME]
    sandbox: off
    format: json
    output: {shown_bytes: 1000, kept_bytes: 2000}
  - name: little
    description: As little as can be said.
    command: [ls]
`, 0o600)
	got, err := declared.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []declared.Program{
		{
			Manifest: protocol.Manifest{
				Name: "all_of_it", Description: "All that can be said.", Schema: []byte(`{"type": "object", "required": ["a"]}`),
				ReadOnly: true, Idempotent: true, Parallel: new(false), Exclusive: true, StopAfter: true, Policy: events.PolicyReview, TimeoutMS: 90_000,
			},
			Command: []string{program, "--fast", "two words"}, Directory: p.folder, Read: []string{lib, "/usr/share", program},
			Network: true, Environment: []string{"A=1", "B=two"}, PassEnvironment: []string{"HOME"}, Unheld: true,
			Format: declared.FormatJSON, ShownBytes: 1000, KeptBytes: 2000,
		},
		{
			Manifest: protocol.Manifest{
				Name: "little", Description: "As little as can be said.", TimeoutMS: events.DefaultToolTimeout.Milliseconds(),
				Schema: []byte(`{"type":"object","properties":{},"additionalProperties":false}`),
			},
			Command: []string{"ls"}, Format: declared.FormatText, ShownBytes: events.MaxResultBytes, KeptBytes: 5 << 20,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

// Each problem is told by its place, and all of them at once.
func TestAllThatIsWrongWithAFileIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("program", "#!/bin/sh\n", 0o755)
	p.write("notes", "no program\n", 0o644)
	const source = `tools:
  - name: two words
    description: ""
    command: []
    polcy: allow
  - name: ask_user
    description: x
    command: [no-such-program]
    timeout: 25h
    policy: perhaps
  - name: taken
    description: x
    command: [./no-such-program]
    schema: {type: objct}
    directory: notes
    read: [nothing, /etc]
  - name: notes
    description: x
    command: [./notes]
    schema: {type: array}
    timeout: soon
    sandbox: perhaps
    format: xml
    output: {shown_bytes: 33000, kept_bytes: -1}
    environment: {EVERTURN_KEY: hush, "A B": hush, GOOD: hush}
    pass_environment: [GOOD, "hush=hush", OTHER, OTHER]
  - name: notes
    description: x
    command: [.]
    schema: nothing.json
    colour: red
`
	_, err := declared.Parse(filepath.Join(p.folder, "tools.yaml"), []byte(source), "taken")
	bad, ok := errors.AsType[*yamlfile.Error](err)
	if !ok {
		t.Fatalf("%v", err)
	}
	var got []string
	for _, problem := range bad.Problems {
		got = append(got, strings.ReplaceAll(at(problem)+" "+strings.SplitN(problem.Message, "\n", 2)[0], p.folder, "…"))
	}
	want := []string{
		`2:11 name: want 1 to 64 of a-z, A-Z, 0-9, _ and -`,
		`3:18 description: missing: the model knows nothing else of what the tool does`,
		`4:14 command: want the program and each of its arguments, as a list`,
		`5:5 unknown field "polcy"`,
		`6:11 name: a tool of Everturn itself is called so`,
		`8:15 command: "no-such-program": there is no such thing here; a program of one's own needs a path, such as ./no-such-program`,
		`9:14 timeout: want a time such as 30s or 5m, from 100ms to 24h0m0s`,
		`10:13 policy: want allow, ask or review`,
		`11:11 name: the runner has another tool of this name`,
		`13:15 command: …/no-such-program: no such file or directory`,
		`14:14 schema: it is no JSON Schema:`,
		`15:16 directory: …/notes: this is no folder`,
		`16:12 read: …/nothing: no such file or directory`,
		`16:21 read: /etc: commands have a folder of their own in its place; name one below it`,
		`19:15 command: …/notes: it may not be executed; chmod +x allows it`,
		`20:14 schema: want type: object: arguments have names`,
		`21:14 timeout: want a time such as 30s or 5m, from 100ms to 24h0m0s`,
		`22:14 sandbox: want on or off`,
		`23:13 format: want text, json or parts`,
		`24:27 output.shown_bytes: want 256 to 32768`,
		`24:46 output.kept_bytes: want 256 to 16777216`,
		`25:19 environment: want the name of a variable, of letters, digits and _`,
		`25:33 environment: EVERTURN_KEY: variables that begin with EVERTURN_ are those of the call`,
		`26:24 pass_environment: GOOD is given already`,
		`26:30 pass_environment: want the name of a variable, of letters, digits and _; its value is the runner's`,
		`26:50 pass_environment: OTHER is given already`,
		`27:11 name: the name is taken by a tool above`,
		`29:15 command: ".": there is no such thing here; a program of one's own needs a path, such as ./.`,
		`30:13 schema: open …/nothing.json: no such file or directory`,
		`31:5 unknown field "colour"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("it shows a value:\n%v", err)
	}
}

func at(p yamlfile.Problem) string {
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

func TestOfOddFilesSomethingIsSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, source, want string }{
		{"an empty one", "", "tools: there are 0, want 1 to 256"},
		{"no tools", "tools: []\n", "tools: there are 0, want 1 to 256"},
		{"no list", "tools: ls\n", "want a list, and this is a text"},
		{"no YAML", "tools: [\n", "t.yaml:1:8"},
		{"a tool that is nothing", "tools: [null]\n", "name: want 1 to 64"},
		{"a large one", strings.Repeat("#", 2<<20), "is larger than 1048576 bytes"},
		{"a schema with a reference outside", "tools: [{name: a, description: b, command: [ls], schema: {type: object, $ref: 'file:///etc/passwd'}}]\n", "a reference may not leave the schema"},
		{"a schema of a number", "tools: [{name: a, description: b, command: [ls], schema: 3}]\n", "want a JSON Schema, which is an object"},
		{"a NUL byte", "tools: [{name: a, description: b, command: [ls, \"a\\0b\"], environment: {A: \"b\\0\"}}]\n", "the argument has a NUL byte in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := declared.Parse("t.yaml", []byte(tt.source)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestFilesOfOneRunnerAreReadTogether(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const one = "tools: [{name: one, description: x, command: [ls]}]\n"
	first, second := p.write("first.yaml", one, 0o600), p.write("second.yaml", "tools: [{name: two, description: x, command: [ls]}]\n", 0o600)
	programs, err := declared.Files{Tools: []string{first, second}}.Programs("three")
	if err != nil || len(programs) != 2 {
		t.Errorf("%v, %v", programs, err)
	}
	again := p.write("again.yaml", one, 0o600)
	_, err = declared.Files{Tools: []string{first, again, second}}.Programs("two")
	if err == nil || !strings.Contains(err.Error(), again+":1:16: name: the runner has another tool of this name") || !strings.Contains(err.Error(), second+":1:16: ") {
		t.Errorf("%v", err)
	}
	_, err = declared.Files{Tools: []string{filepath.Join(p.folder, "nothing.yaml")}}.Open(t.Context(), launcher, nil, p.held())
	if _, ok := errors.AsType[*declared.FileError](err); !ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	others := []toolrunner.Tool{toolrunner.Func(protocol.Manifest{Name: "one"}, nil)}
	if _, err := (declared.Files{Tools: []string{first}}).Open(t.Context(), launcher, others, p.held()); err == nil {
		t.Error("a name is taken twice")
	}
	if none, err := (declared.Files{}).Open(t.Context(), launcher, others, p.held()); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
