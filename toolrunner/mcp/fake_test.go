package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// The launcher of these tests, set once before any of them.
var launcher sandbox.Launcher

// TestMain is also the servers that the tests speak to: this very binary, run again.
func TestMain(m *testing.M) {
	launcher = sandbox.Enter()
	if len(os.Args) > 1 && os.Args[1] == "fake" {
		os.Exit(newFake().serve())
	}
	os.Exit(m.Run())
}

// fake is a server by hand, so that it can do what no library would.
type fake struct {
	in      *bufio.Scanner
	changed bool
	asking  json.RawMessage // id of a call that waits for an answer to its question
	storm   int             // answers that it waits for to many questions
}

// request is a message of ours.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
		Meta      map[string]any `json:"_meta"`
		Protocol  string         `json:"protocolVersion"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func newFake() *fake {
	note("FAKE_STARTS", "started\n")
	f := &fake{in: bufio.NewScanner(os.Stdin)}
	f.in.Buffer(nil, 32<<20)
	return f
}

// note appends to the file that a variable names, if it does.
func note(variable, text string) {
	if path := os.Getenv(variable); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil && os.Getenv("FAKE_LENIENT") != "" {
			return
		}
		if err != nil {
			panic(err)
		}
		defer file.Close()
		fmt.Fprint(file, text)
	}
}

func (f *fake) serve() int {
	if os.Getenv("FAKE_CRASHES") != "" {
		fmt.Fprintln(os.Stderr, os.Getenv("FAKE_PADDING"), "no configuration, token", os.Getenv("FAKE_TOKEN"))
		return 7
	}
	for f.in.Scan() {
		var r request
		if err := json.Unmarshal(f.in.Bytes(), &r); err != nil {
			return 9
		}
		if code := f.handle(r); code != 0 {
			return code
		}
	}
	return 0
}

// A fake has one tool for each thing that it can do.
const fakeTools = `{"tools":[
	{"name":"echo","description":"Says it again.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}},
	{"name":"exit","inputSchema":{"type":"object"}},
	{"name":"stop","inputSchema":{"type":"object"}},
	{"name":"never","inputSchema":{"type":"object"}},
	{"name":"noise","inputSchema":{"type":"object"}},
	{"name":"twice","inputSchema":{"type":"object"}},
	{"name":"progress","inputSchema":{"type":"object"}},
	{"name":"wrong","inputSchema":{"type":"object"}},
	{"name":"bad","inputSchema":{"type":"object"}},
	{"name":"odd","inputSchema":{"type":"object"}},
	{"name":"large","inputSchema":{"type":"object"}},
	{"name":"ask","inputSchema":{"type":"object"}},
	{"name":"storm","inputSchema":{"type":"object"}},
	{"name":"deaf","inputSchema":{"type":"object"}},
	{"name":"change","inputSchema":{"type":"object"}}%s
]}`

func (f *fake) handle(r request) (exit int) {
	switch r.Method {
	case "server/discover":
		if os.Getenv("FAKE_DIES_ON_DISCOVER") != "" {
			return 4
		}
		f.fail(r.ID, -32601, "method not found")
	case "initialize":
		if d, err := time.ParseDuration(os.Getenv("FAKE_SLOW")); err == nil {
			<-time.After(d)
		}
		f.answer(r.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		odd, _ := os.ReadFile(os.Getenv("FAKE_TOOLS"))
		more := string(odd)
		if n, _ := strconv.Atoi(os.Getenv("FAKE_MANY")); n > 0 {
			for i := range n {
				more += fmt.Sprintf(`,{"name":"many%d","inputSchema":{"type":"object"}}`, i)
			}
		}
		if f.changed {
			more = `,{"name":"new one","inputSchema":{"type":"object"}}`
		}
		f.answer(r.ID, fmt.Sprintf(fakeTools, more))
	case "tools/call":
		return f.call(r)
	case "notifications/cancelled":
		note("FAKE_EFFECTS", "cancelled\n")
	case "ping":
		f.answer(r.ID, `{}`)
	case "": // it is the answer to our question
		if f.storm--; f.storm > 0 {
			break
		}
		f.say(f.asking, string(r.Result))
	}
	return 0
}

func (f *fake) call(r request) (exit int) {
	note("FAKE_EFFECTS", r.Params.Name+"\n")
	switch r.Params.Name {
	case "echo":
		f.say(r.ID, fmt.Sprint(r.Params.Arguments["text"], " under ", r.Params.Meta["everturn/idempotency-key"]))
	case "exit":
		return 3
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "never":
	case "noise":
		fmt.Println("Listening on nothing.\n\n{\"what\": \"is this\"}\n[INFO] 42")
		f.say(r.ID, "after the noise")
	case "twice":
		f.say(r.ID, "first")
		f.say(r.ID, "second")
	case "progress":
		token, _ := json.Marshal(r.Params.Meta["progressToken"])
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":3}}`+"\n", token)
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2,"message":"nearly"}}`+"\n", token)
		f.say(r.ID, "done")
	case "wrong":
		f.answer(r.ID, `{"content":[{"type":"text","text":"there is no such city"}],"isError":true}`)
	case "bad":
		f.fail(r.ID, -32602, "arguments: want a city")
	case "odd":
		f.answer(r.ID, oddResult)
	case "large":
		f.say(r.ID, strings.Repeat("a", 17<<20))
	case "ask":
		f.asking = r.ID
		fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + question + `}`)
	case "storm":
		f.asking, f.storm = r.ID, int(r.Params.Arguments["answers"].(float64))
		for i := range int(r.Params.Arguments["questions"].(float64)) {
			fmt.Printf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":%s}`+"\n", i, question)
		}
	case "deaf":
		for i := range 50_000 {
			fmt.Printf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`+"\n", i)
		}
		<-time.After(time.Hour)
	case "change":
		f.changed = true
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		f.say(r.ID, "changed")
	}
	return 0
}

// What a fake asks a person.
const question = `{"mode":"form","message":"May I?","requestedSchema":{"type":"object",` +
	`"properties":{"sure":{"type":"boolean","title":"Sure"},"count":{"type":"integer"}},"required":["sure"]}}`

// Everything that a result may hold, with a GIF of one pixel.
const oddResult = `{"content":[
	{"type":"text","text":"look:"},
	{"type":"image","mimeType":"image/gif","data":"R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"},
	{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="},
	{"type":"resource_link","uri":"file:///a.txt","name":"a","description":"the first","mimeType":"text/plain"},
	{"type":"resource","resource":{"uri":"demo://note","mimeType":"text/plain","text":"a note"}},
	{"type":"resource","resource":{"uri":"demo://x.bin","mimeType":"application/gzip","blob":"H4sI"}},
	{"type":"text","text":"{\"degrees\": 21}"}
],"structuredContent":{"degrees":21}}`

func (*fake) say(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", id, quoted)
}

func (*fake) answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, strings.ReplaceAll(result, "\n", ""))
}

func (*fake) fail(id json.RawMessage, code int, message string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, message)
}
