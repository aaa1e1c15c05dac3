package system

import "testing"

func TestRig(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, scripted(t, toolThenText("      - call: {name: ping}")))
	h := c.turn("hi")
	if got := h.finalText(); got != "The tool said: pong" {
		t.Errorf("answer %q\n%s", got, h)
	}
	c.stillWorks()
}
