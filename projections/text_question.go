package projections

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// AnswerLine is what to type to answer what a call asks. What is not answered yet
// stands as dots.
func AnswerLine(chat string, call events.CallID, questions []events.Question, answers []events.Answer) string {
	words := []string{fmt.Sprintf("everturn answer %s %s", chat, call)}
	for i, q := range questions {
		said := oneLine(q.ID) + "=..."
		if i < len(answers) {
			said = oneLine(q.ID) + "=" + answers[i].Text
		}
		words = append(words, quoted(said))
	}
	return strings.Join(words, " ")
}

// ResultLine is what to type to send what a call of the client's own tools came to.
func ResultLine(chat string, call events.CallID) string {
	return fmt.Sprintf("everturn client-result %s %s TEXT", chat, call)
}

// quoted is one word for a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=._-"
	if strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// question writes what a call asks a person, and what was answered.
func (t *TextWriter) question(status CallStatus, q *Question) {
	for i, asked := range q.Questions {
		t.indented("   ", fmt.Sprintf("%s: %s  [%s]", oneLine(asked.Header), oneLine(asked.Text), oneLine(asked.ID)))
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
	case q.Answers != nil, status != CallAsking: // answered, or it was interrupted
	case q.Held:
		t.indented("   ", "(held)")
	default:
		t.indented("   ", "(until "+t.clock(q.Due)+")")
	}
}
