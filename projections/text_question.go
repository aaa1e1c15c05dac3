package projections

import "fmt"

// question writes what a call asks a person, and what was answered.
func (t *TextWriter) question(q *Question) {
	for i, asked := range q.Questions {
		t.indented("   ", fmt.Sprintf("%s: %s", oneLine(asked.Header), oneLine(asked.Text)))
		for _, o := range asked.Options {
			t.indented("   - ", fmt.Sprintf("%s: %s", oneLine(o.Label), oneLine(o.Description)))
		}
		if i < len(q.Answers) {
			t.indented("   = ", q.Answers[i].Text)
		}
	}
	switch {
	case q.Expired:
		t.indented("   ", "(nobody answered in time)")
	case q.Answers != nil && q.By != "":
		t.indented("   ", "(answered by "+oneLine(q.By)+")")
	case q.Answers != nil:
	case q.Held:
		t.indented("   ", "(held)")
	default:
		t.indented("   ", "(until "+t.clock(q.Due)+")")
	}
}
