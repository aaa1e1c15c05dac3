package crash

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/bustest"
	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// The points know the ports, and nothing that is behind them.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "model", "orchestrator", "protocol", "toolrunner")...)
}

var key = events.Key{Tenant: "default", Chat: "a"}

// environment is what a process finds in its own.
type environment map[string]string

func (e environment) points(t *testing.T) *Points {
	t.Helper()
	p, err := New(func(name string) string { return e[name] })
	if err != nil {
		t.Fatal(err)
	}
	if p.list != nil {
		t.Cleanup(func() { _ = p.list.Close() }) // what was written is read by its name
	}
	return p
}

// A bus with points is the bus it was.
func TestBus(t *testing.T) {
	t.Parallel()

	bustest.Run(t, func(t *testing.T) bustest.Rig {
		const ackWait = 600 * time.Millisecond
		server := membus.New(membus.Options{AckWait: ackWait})
		var runners atomic.Int64
		return bustest.Rig{
			Bus:   environment{}.points(t).Orchestrator(server.Process("one").Orchestrator()),
			Other: environment{}.points(t).Orchestrator(server.Process("two").Orchestrator()),
			Runner: func(string) toolrunner.Bus {
				return environment{}.points(t).Runner(server.Process("runner" + strconv.FormatInt(runners.Add(1), 10)).Runner())
			},
			Publish: server.Publish,
			Listen:  server.Listen,
			AckWait: ackWait,
		}
	})
}

func TestPointsAreCountedForEachChat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	p := environment{EnvList: path}.points(t)
	bus := p.Orchestrator(membus.New(membus.Options{}).Process("one").Orchestrator())
	other := events.Key{Tenant: "default", Chat: "b"}
	for _, k := range []events.Key{key, other, key} {
		if err := bus.Timers.Set(t.Context(), protocol.Timer{Tenant: k.Tenant, Chat: k.Chat, Name: "retry-1.1-1"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadList(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Passing{
		{Chat: "a", Point: "before set timer retry", Nth: 1},
		{Chat: "a", Point: "after set timer retry", Nth: 1},
		{Chat: "b", Point: "before set timer retry", Nth: 1},
		{Chat: "b", Point: "after set timer retry", Nth: 1},
		{Chat: "a", Point: "before set timer retry", Nth: 2},
		{Chat: "a", Point: "after set timer retry", Nth: 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What comes after the point has no effect, and what came before it has.
func TestAProcessDiesAtItsPoint(t *testing.T) {
	t.Parallel()
	type death struct{}
	for _, tt := range []struct {
		at, chat string
		stored   int // commits of the chat when it has died
		dies     bool
	}{
		{at: "before append chat.created.v1:1", chat: "a", stored: 0, dies: true},
		{at: "after append chat.created.v1:1", chat: "a", stored: 1, dies: true},
		{at: "before append chat.created.v1:2", chat: "a", stored: 1, dies: true},
		{at: "before append chat.created.v1", chat: "a", stored: 0, dies: true},
		{at: "before append chat.created.v1:1", chat: "b", stored: 2},
		{at: "before append chat.created.v1:1", stored: 2},
		{at: "before reply:1", chat: "a", stored: 2},
	} {
		t.Run(tt.at+" of "+tt.chat, func(t *testing.T) {
			t.Parallel()
			p := environment{EnvAt: tt.at, EnvChat: tt.chat}.points(t)
			p.die = func() { panic(death{}) }
			server := membus.New(membus.Options{})
			bus := p.Orchestrator(server.Process("one").Orchestrator())
			died := false
			func() {
				defer func() { _, died = recover().(death) }()
				var fence uint64
				for range 2 {
					var err error
					fence, err = bus.Log.Append(t.Context(), protocol.Append{Key: key, Fence: fence, Body: []byte("x"), Types: "chat.created.v1"})
					if err != nil {
						t.Error(err)
					}
				}
			}()
			if n := len(server.Log(key)); n != tt.stored || died != tt.dies {
				t.Errorf("%d commits are stored, want %d; died: %t", n, tt.stored, died)
			}
		})
	}
}

func TestAPointThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"reply:", "reply:0", "reply:x"} {
		if _, err := New(func(name string) string { return map[string]string{EnvAt: at}[name] }); err == nil {
			t.Errorf("%q is taken for a point", at)
		}
	}
}

// echo is a model that says one piece and its answer.
type echo struct{}

func (echo) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "a"}, nil) && yield(model.Delta{Answer: &model.Answer{}}, nil)
	}
}

func TestAModelIsKnownByTheNameOfTheChatInItsRequest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	models := environment{EnvList: path, EnvChat: "chat-7"}.points(t).Models(func(name string) (model.Model, bool) {
		return echo{}, name == "echo"
	})
	if _, ok := models("other"); ok {
		t.Error("there is a model that there was not")
	}
	m, _ := models("echo")
	for _, text := range []string{"in chat-7", "in chat-8"} {
		request := model.Request{Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text(text)}}}}
		for _, err := range m.Stream(t.Context(), request) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := ReadList(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, p.Chat+" "+p.Point)
	}
	points := []string{"before asking the model", "after the model began", "after the model ended"}
	var want []string
	for _, chat := range []string{"chat-7", ""} {
		for _, p := range points {
			want = append(want, chat+" "+p)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAToolHasPointsAroundIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "list")
	tools := environment{EnvList: path}.points(t).Tools([]toolrunner.Tool{
		toolrunner.Func(protocol.Manifest{Name: "pay"}, func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{Text: "paid"}, nil
		}),
	})
	output, err := tools[0].Run(t.Context(), toolrunner.Call{Chat: key})
	if err != nil || output.Text != "paid" || tools[0].Manifest().Name != "pay" {
		t.Errorf("output %+v, error %v", output, err)
	}
	list, err := ReadList(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Passing{{"a", "before running pay", 1}, {"a", "after running pay", 1}}; !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
}
