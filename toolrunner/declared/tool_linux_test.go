package declared_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

func TestAProgramIsGivenTheArgumentsAndItsCall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`read -r line; echo "$line"; cat; echo "$EVERTURN_IDEMPOTENCY_KEY $EVERTURN_TENANT $EVERTURN_CHAT $EVERTURN_CALL"; pwd`)
	p.both(program, "{\"a\":\n 1,\"b\": \"x y\"}", func(how string, out toolrunner.Output, err error) {
		want := "{\"a\":1,\"b\":\"x y\"}\nkey-1 acme c1 3.2.1\n" + p.workspace + "\n"
		if err != nil || out.IsError || out.Text != want {
			t.Errorf("%s: %+v, %v", how, out, err)
		}
	})
}

func TestTheEndOfAProgramIsTheResult(t *testing.T) {
	t.Parallel()
	const asJSON = "format: json"
	for _, tt := range []struct {
		name    string
		script  string
		keys    []string
		want    string
		isError bool
		err     error
	}{
		{"text, as it is", `printf 'one\n two'`, nil, "one\n two", false, nil},
		{"nothing", `true`, nil, "", false, nil},
		{"what it says besides is no result", `echo result; echo besides >&2`, nil, "result\n", false, nil},
		{"text in broken UTF-8 is for the runner to repair", `printf 'a\377b'`, nil, "a\xffb", false, nil},
		{"what is no text", `printf '\211PNG\r\n\032\n\0\0\0'`, nil, "[The output is not text: 11 bytes, image/png.]", false, nil},
		{"JSON", `echo '{"a": 1}'`, []string{asJSON}, `{"a": 1}`, false, nil},
		{"no JSON", `echo 'a: 1'`, []string{asJSON}, "its output is not the JSON that it should be: invalid character 'a'", true, nil},
		{"half a value", `printf '{"a":'`, []string{asJSON}, "unexpected end of JSON input", true, nil},
		{"two values", `echo '1 2'`, []string{asJSON}, "invalid character '2'", true, nil},
		{"no value", `true`, []string{asJSON}, "unexpected end of JSON input", true, nil},
		{"no list of parts", `echo '{"type": "text"}'`, []string{"format: parts"}, "is not the list of parts that it should be", true, nil},
		{"a part of another kind", `echo '[{"type": "text", "text": "a"}, {"type": "sound"}]'`, []string{"format: parts"}, `part 2 has the type "sound"`, true, nil},
		{"a part that says too much", `echo '[{"type": "text", "texts": "a"}]'`, []string{"format: parts"}, "unknown field", true, nil},
		{"a list that does not end", `echo '[{"type": "text"}'`, []string{"format: parts"}, "it does not end with ]", true, nil},
		{"parts without a comma", `echo '[{"type": "text"} {"type": "text"}]'`, []string{"format: parts"}, "is not the list of parts", true, nil},
		{"thousands of parts", `echo '['; yes '{"type": "text"},' | head -n 1000; echo '{"type": "text"}]'`, []string{"format: parts"}, "it has more than 1000 parts", true, nil},
		{"two lists", `echo '[] []'`, []string{"format: parts"}, "something follows the list", true, nil},
		{"too many bytes that are no text", `head -c 2000 /dev/zero`, []string{"output: {kept_bytes: 1000}"}, "It is not kept: ", false, nil},
		{"more JSON than is kept", `echo "\"$(printf %2000s x)\""`, []string{asJSON, "output: {kept_bytes: 1000}"}, "is too long to be read as JSON", true, nil},
		{"an exit code", `echo so far; echo why >&2; exit 3`, nil, "\nso far\n[standard error:]\nwhy", true, nil},
		{"an exit code, told first", `exit 3`, nil, "[exit code 3 after ", true, nil},
		{"the code of who cannot tell", `echo sent; exit 75`, nil, "\nsent", false, toolrunner.ErrOutcomeUnknown},
		{"a signal", `echo sent; kill -KILL $$`, nil, "[ended by SIGKILL after ", false, toolrunner.ErrOutcomeUnknown},
		{"a folder of its own", `pwd`, []string{"directory: ."}, "/tools\n", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.both(p.script(tt.script, tt.keys...), "{}", func(how string, out toolrunner.Output, err error) {
				right := out.Text == tt.want || (tt.isError || tt.err != nil || strings.HasPrefix(tt.want, "/") || strings.HasPrefix(tt.want, "It")) && strings.Contains(out.Text, tt.want)
				if !errors.Is(err, tt.err) || out.IsError != tt.isError || !right {
					t.Errorf("%s: %+v, %v", how, out, err)
				}
				if says := strings.Contains(out.Text, "no sandbox"); strings.HasPrefix(out.Text, "[e") && !strings.Contains(out.Text, "its output") && says != (how == "free") {
					t.Errorf("%s: %q", how, out.Text)
				}
			})
		})
	}
}

func TestAProgramMakesPartsForTheModelToSee(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script, format, text string
		want                       []toolrunner.Part
	}{
		{
			"a picture", `printf '\211PNG\r\n\032\n\0\0\0'`, "text", "[The output is not text: 11 bytes, image/png.]",
			[]toolrunner.Part{toolrunner.Image("program", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00"))},
		},
		{
			"other bytes", `printf '\1\0\2'`, "text", "[The output is not text: 3 bytes, application/octet-stream.]",
			[]toolrunner.Part{toolrunner.File("program", "application/octet-stream", []byte{1, 0, 2})},
		},
		{
			"a list", `echo '[{"type":"text","text":"one"},{"type":"image","name":"a.png","content":"AQI="},
				{"type":"file","name":"b","media_type":"text/csv","content":"Yg=="},{"type":"link","title":"c","url":"https://example.org/"},
				{"type":"data","json":{"d":1}},{"type":"text","text":"two"}]'`, "parts", "one\ntwo",
			[]toolrunner.Part{
				toolrunner.Image("a.png", []byte{1, 2}), toolrunner.File("b", "text/csv", []byte("b")),
				toolrunner.Link("c", "https://example.org/"), toolrunner.Data([]byte(`{"d":1}`)),
			},
		},
		{"an empty list", `echo '[]'`, "parts", "", nil},
	} {
		p := newPlace(t)
		p.both(p.script(tt.script, "format: "+tt.format), "{}", func(how string, out toolrunner.Output, err error) {
			if err != nil || out.IsError || out.Text != tt.text {
				t.Errorf("%s, %s: %+v, %v", tt.name, how, out, err)
			}
			if diff := cmp.Diff(tt.want, out.Parts); diff != "" {
				t.Errorf("%s, %s: parts (-want +got):\n%s", tt.name, how, diff)
			}
		})
	}
}

func TestAProgramThatCannotStartHasDoneNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script("true")
	for _, content := range []string{"#!/no/such/interpreter\n", "neither script nor program"} {
		p.write("program", content, 0o755)
		p.both(program, "{}", func(how string, _ toolrunner.Output, err error) {
			if !errors.Is(err, sandbox.ErrNotStarted) {
				t.Errorf("%s: %v", how, err)
			}
		})
	}
}

func TestOf100MegabytesSomeIsKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`echo first; head -c 100000000 /dev/zero | tr '\0' x; echo; echo last; head -c 100000000 /dev/zero | tr '\0' y >&2; exit 1`, "output: {shown_bytes: 1000}")
	p.both(program, "{}", func(how string, out toolrunner.Output, err error) {
		if err != nil || !out.IsError || out.Shown != 1000 || len(out.Text) > 6<<20 {
			t.Errorf("%s: %d bytes, %d shown, %v", how, len(out.Text), out.Shown, err)
		}
		for _, part := range []string{"]\nfirst\nxxx", "bytes were dropped here", "xxx\nlast\n[standard error:]\n[", "yyy"} {
			if !strings.Contains(out.Text, part) {
				t.Errorf("%s: no %q in it", how, part)
			}
		}
	})
}

// Pipes have an end that somebody has to close: whoever does it at the wrong time must
// not hold up a call.
func TestNoPipeHoldsACallUp(t *testing.T) {
	t.Parallel()
	large := `{"a": "` + strings.Repeat("x", 250_000) + `"}`
	for _, tt := range []struct{ name, script, want string }{
		{"it reads nothing", `echo done`, "done\n"},
		{"it closes its input", `exec <&-; sleep 0.1; echo done`, "done\n"},
		{"it reads a part", `head -c 3; echo`, "{\"a\n"},
		{"it reads all", `wc -c`, "250009\n"},
		{"it closes its output early", `echo done; exec >&- 2>&-; sleep 0.1; touch later`, "done\n"},
		{"what it leaves behind holds its output", `setsid sleep 600 & echo done`, "done\n"},
		{"and ignores signals", `(trap '' TERM HUP; sleep 600) & echo done`, "done\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			began := time.Now()
			p.both(p.script(tt.script), large, func(how string, out toolrunner.Output, err error) {
				if err != nil || out.Text != tt.want {
					t.Errorf("%s: %.200q, %v", how, out.Text, err)
				}
				if strings.Contains(tt.script, "later") {
					if err := os.Remove(filepath.Join(p.workspace, "later")); err != nil {
						t.Errorf("%s: it was not waited for: %v", how, err)
					}
				}
			})
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestACallThatIsNotWantedEndsItsProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, want string }{
		{"it ends when told to", `trap 'echo told; exit 0' TERM; echo begun >&2; while :; do sleep 0.05; done`, "\ntold\n[standard error:]\nbegun"},
		{"it ignores that", `trap '' TERM; echo so far; echo begun >&2; while :; do sleep 1; done`, "\nso far\n[standard error:]\nbegun"},
		{"its children ignore that", `(trap '' TERM; while :; do sleep 1; done) & echo so far; echo begun >&2; wait`, "\nso far\n[standard error:]\nbegun"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			program := p.script(tt.script)
			for _, o := range []declared.Options{p.held(), p.free()} {
				ctx, cancel := context.WithCancel(t.Context())
				out, err := call(ctx, p.open(program, o), "{}", &progress{first: cancel})
				cancel()
				if !errors.Is(err, context.Canceled) || !strings.Contains(out.Text, "[stopped after ") || !strings.Contains(out.Text, tt.want) {
					t.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
}

func TestAProgramWhoseTimeIsOverIsEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`echo so far; sleep 600`)
	for _, o := range []declared.Options{p.held(), p.free()} {
		tool := p.open(program, o)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		out, err := call(ctx, tool, "{}", &progress{})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(out.Text, "so far") {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestTheEnvironmentIsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`env; echo "${#DECLARED_TEST_TOKEN}"; echo "$DECLARED_TEST_TOKEN" >&2`,
		"environment: {WORD: two words, LANG: C, NUMBER: 3}", "pass_environment: [DECLARED_TEST_TOKEN]")
	for _, o := range []declared.Options{p.held(), p.free()} {
		seen := &progress{}
		out, err := call(t.Context(), p.open(program, o), "{}", seen)
		if err != nil || strings.Contains(out.Text, secret) || strings.Contains(out.Text, "DECLARED_TEST_OTHER") || strings.Contains(seen.text(), secret) {
			t.Errorf("%+v, %v, shown %q", out, err, seen.text())
		}
		for _, line := range []string{"WORD=two words", "LANG=C", "NUMBER=3", "DECLARED_TEST_TOKEN=[DECLARED_TEST_TOKEN]", fmt.Sprint(len(secret)), "EVERTURN_GRANTS="} {
			if !strings.Contains(out.Text, line+"\n") {
				t.Errorf("no %q in %s", line, out.Text)
			}
		}
		if seen.text() != "[DECLARED_TEST_TOKEN]\n" {
			t.Errorf("shown: %q", seen.text())
		}
	}
}

// A secret may begin with another one, have several lines, and stand where what is kept
// begins.
func TestNoPieceOfASecretIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`echo "$DECLARED_TEST_LONG_KEY"
		printf '%s\n' "$DECLARED_TEST_LINES_KEY" | while read -r line; do echo "$line" >&2; sleep 0.15; done
		echo "$DECLARED_TEST_TOKEN" >&2; head -c 4085 /dev/zero | tr '\0' x >&2; echo >&2; exit 1`,
		"pass_environment: [DECLARED_TEST_TOKEN, DECLARED_TEST_LONG_KEY, DECLARED_TEST_LINES_KEY]")
	for _, o := range []declared.Options{p.held(), p.free()} {
		seen := &progress{}
		out, err := call(t.Context(), p.open(program, o), "{}", seen)
		if err != nil || !strings.Contains(out.Text, "]\n[DECLARED_TEST_LONG_KEY]\n[standard error:]\n[") || !strings.Contains(seen.text(), "[DECLARED_TEST_LINES_KEY]\n") {
			t.Errorf("%.300q, %v, shown %.300q", out.Text, err, seen.text())
		}
		for _, piece := range []string{"and-more", "line-of-a-key", "the-host"} {
			if strings.Contains(out.Text+seen.text(), piece) {
				t.Errorf("%q is left in %.300q, shown %.300q", piece, out.Text, seen.text())
			}
		}
	}
}

func TestProgressComesInLinesAndInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script(`for i in 1 2 3 4 5; do printf "line "; sleep 0.12; echo $i; done >&2; printf end >&2`)
	seen := &progress{}
	if _, err := call(t.Context(), p.open(program, p.held()), "{}", seen); err != nil {
		t.Error(err)
	}
	if got := seen.text(); got != "line 1\nline 2\nline 3\nline 4\nline 5\nend" || len(seen.shown) < 2 {
		t.Errorf("shown: %q", seen.shown)
	}
	for _, text := range seen.shown {
		if !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "end") {
			t.Errorf("a part of a line: %q", text)
		}
	}
}

func TestAProgramWritesAndReachesWhatItsFileSays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("beside.txt", "beside\n", 0o644)
	for _, tt := range []struct {
		name   string
		script string
		keys   []string
		want   string
	}{
		{"the workspace", `echo x > file && cat file`, nil, "x\n"},
		{"nothing, if it is read-only", `echo x > file || echo no`, []string{"read_only: true"}, "no\n"},
		{"no file beside it", `cat ` + p.folder + `/beside.txt || echo no`, nil, "no\n"},
		{"but those that it may", `cat ` + p.folder + `/beside.txt`, []string{"read: [beside.txt]"}, "beside\n"},
		{"a folder to start in", `cat beside.txt; echo x > beside.txt || echo no`, []string{"directory: ."}, "beside\nno\n"},
	} {
		out, err := call(t.Context(), p.open(p.script(tt.script, tt.keys...), p.held()), "{}", &progress{})
		if err != nil || out.Text != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, out, err)
		}
	}
	const world = `readlink /proc/self/ns/net`
	without, _ := call(t.Context(), p.open(p.script(world), p.held()), "{}", &progress{})
	said, _ := call(t.Context(), p.open(p.script(world, "network: true"), p.held()), "{}", &progress{})
	granted, _ := call(t.Context(), p.open(p.script(world), p.held()), "{}", &progress{}, declared.GrantNetwork)
	if host, err := os.Readlink("/proc/self/ns/net"); err != nil || strings.TrimSpace(said.Text) != host || granted.Text != said.Text || without.Text == said.Text {
		t.Errorf("host %s (%v), without %q, said %q, granted %q", host, err, without.Text, said.Text, granted.Text)
	}
}

func TestWhatARunnerCannotGiveIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	program := p.script("true", "sandbox: off", "pass_environment: [DECLARED_TEST_MISSING, DECLARED_TEST_TOKEN]")
	_, err := declared.Open(t.Context(), launcher, []declared.Program{program}, p.held())
	if err == nil || !strings.Contains(err.Error(), "DECLARED_TEST_MISSING is not set") || !strings.Contains(err.Error(), "--sandbox=off") || strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("%v", err)
	}
	_, err = declared.Open(t.Context(), sandbox.Launcher{}, []declared.Program{p.script("true")}, p.held())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "--sandbox=off") {
		t.Errorf("%v", err)
	}
}
