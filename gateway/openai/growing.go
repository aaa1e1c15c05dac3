package openai

import "strings"

// growing is a text of which a client has a beginning. What was sent cannot be taken
// back: what a later attempt says is sent from where it goes on with it, and if it
// says something else, behind it.
type growing struct {
	sent    string // to the client, of this text
	now     string // what is known of it
	next    int    // the delta that is due
	attempt int
}

// separator stands between two steps of an answer, and before what a later attempt
// says in other words.
const separator = "\n\n"

// add takes the next delta of an attempt, and gives what is to be sent. One that came
// before is nothing new; behind one that is missing there is nothing to show until
// the whole is there.
func (g *growing) add(attempt, i int, text string) string {
	if attempt < g.attempt || attempt == g.attempt && i != g.next {
		return ""
	}
	if attempt > g.attempt {
		if i != 0 {
			return ""
		}
		g.attempt, g.next, g.now = attempt, 0, ""
	}
	g.next++
	return g.set(g.now + text)
}

// set says what the text is now, and gives what is to be sent.
func (g *growing) set(text string) string {
	g.now = text
	rest, goesOn := strings.CutPrefix(text, g.sent)
	switch {
	case goesOn:
	case strings.HasPrefix(g.sent, text): // it may yet go on with it
		return ""
	default:
		rest = separator + text
	}
	g.sent = text
	return rest
}
