package script_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := script.Demo()
		for _, tool := range []string{"current_time", "list_directory"} {
			r := request(user("hello"))
			r.Tools = []model.Tool{{Name: tool}}
			s := ask(t.Context(), t, m, r)
			if s.text(t) == "" || s.answer.Stop != events.StopCalls || s.answer.Parts[1].Name != tool {
				t.Errorf("%s: step 1: %+v", tool, s.answer.Parts)
			}
			r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Parts: s.answer.Parts}, results("it is noon"))
			s = ask(t.Context(), t, m, r)
			if text := s.text(t); s.answer.Stop != events.StopEnd || !strings.Contains(text, "it is noon") || !strings.Contains(text, "“hello”") {
				t.Errorf("%s: step 2: %q", tool, text)
			}
		}
		r := request(user("Write \"hello\" to notes.txt"))
		r.Tools = []model.Tool{{Name: "current_time"}, {Name: "write_file"}}
		s := ask(t.Context(), t, m, r)
		if call := s.answer.Parts[1]; call.Name != "write_file" || call.Arguments != `{"path": "notes.txt", "content": "Write \"hello\" to notes.txt\n"}` {
			t.Errorf("to write: %+v", call)
		}
		r = request(user("Please run a command"))
		r.Tools = []model.Tool{{Name: "current_time"}, {Name: "run_command"}}
		s = ask(t.Context(), t, m, r)
		if call := s.answer.Parts[1]; call.Name != "run_command" || call.Arguments != `{"argv": ["ls", "-l"]}` {
			t.Errorf("to run: %+v", call)
		}
		s = ask(t.Context(), t, m, request(user("hello")))
		if text := s.text(t); s.answer.Stop != events.StopEnd || !strings.Contains(text, "“hello”") || len(s.deltas) < 10 {
			t.Errorf("without tools: %q in %d deltas", text, len(s.deltas))
		}
	})
}
