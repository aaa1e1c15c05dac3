package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// now is what happens at the end of the conversation.
type now struct {
	Chat     string
	Title    string
	ReadOnly bool
	Head     transcript.Head
	Running  bool
	Reached  *reached
	Awaits   []awaited
	Children []transcript.Child
}

// reached is a budget that is used up.
type reached struct {
	Turn        int
	Text        string
	OfChat      bool
	Bound       string
	Label, Unit string
}

// awaited is a call of another chat that waits for somebody here.
type awaited struct {
	transcript.Awaited
	Shown    string        // the arguments, where what nobody would see stands as its number
	Digest   events.Digest // of all arguments; empty where only their beginning is known
	Question *question
}

func nowOf(t transcript.Page, running, readOnly bool) now {
	n := now{Chat: t.Chat, Title: titleOf(t.Head), ReadOnly: readOnly, Head: t.Head, Running: running, Children: t.Children}
	if r := t.Reached; r != nil {
		n.Reached = &reached{Turn: r.Turn, OfChat: r.Scope == events.BudgetOfChat, Bound: string(r.Bound)}
		n.Reached.Text, n.Reached.Label, n.Reached.Unit = spent(*r)
	}
	for _, child := range t.Children {
		for _, a := range child.Awaits {
			shown := awaitedOf(a)
			if a.Question != nil {
				shown.Question = questionOf(a.Chat, a.Call, a.Question, readOnly)
			}
			n.Awaits = append(n.Awaits, shown)
		}
	}
	return n
}

// awaitedOf is a call for whoever is to decide about it. What is cut short is decided in
// its own chat, where all of it can be read.
func awaitedOf(a transcript.Awaited) awaited {
	shown := awaited{Awaited: a, Shown: events.VisibleText(pretty(a.Arguments))}
	shown.Tool = events.VisibleText(a.Tool)
	if strings.HasPrefix(strings.TrimSpace(a.Arguments), "{") && json.Valid([]byte(a.Arguments)) { // the beginning of an object is none
		shown.Digest = events.DigestOf([]byte(a.Arguments))
	}
	return shown
}

// spent says which budget is used up, and what can be added to it.
func spent(r events.BudgetReached) (text, label, unit string) {
	of := "This turn"
	if r.Scope == events.BudgetOfChat {
		of = "This chat"
	}
	switch r.Bound {
	case events.BoundTokens:
		return fmt.Sprintf("%s has used %s of its %s tokens.", of, tokens(r.Spent.Tokens), tokens(r.Budget.Tokens)), "Tokens to add", "tokens"
	case events.BoundCost:
		return fmt.Sprintf("%s has cost %s of the %s it may.", of, money(r.Spent.CostMicros), money(r.Budget.CostMicros)), "Money to add", "money"
	case events.BoundTime:
		return fmt.Sprintf("%s has taken the %s it may.", of, took(r.Budget.Time())), "Minutes to add", "minutes"
	}
	return of + " has used up its budget.", "Tokens to add", "tokens"
}
