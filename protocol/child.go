package protocol

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/google/uuid"
)

// Word says what a [ChatWork] is about.
type Word string

// What a chat and its child tell each other. All of it stands under the name of the
// parent, which is the one that waits.
const (
	WordReport Word = "report" // the parent waits: make the child if there is none, and look how it stands
	WordStop   Word = "stop"   // the parent waits no more: the child is to end
	WordEnded  Word = "ended"  // the child has ended. Not a report: one that is just being handled would keep it from being stored
)

// ChatWork asks for word between a chat and the child that works for one of its
// calls.
type ChatWork struct {
	V      int           `json:"v"`
	Tenant string        `json:"tenant"`
	Chat   string        `json:"chat"` // the parent
	Rev    uint64        `json:"rev"`  // of the parent's commit that caused it; 0 if it was the child's
	What   Word          `json:"what"`
	Call   events.CallID `json:"call"`
}

// Name is the last token of the work's subject.
func (w ChatWork) Name() string { return string(w.What) + "-" + w.Call.Token() }

// ParseChatWorkName is the inverse of [ChatWork.Name].
func ParseChatWorkName(s string) (Word, events.CallID, error) {
	what, rest, _ := strings.Cut(s, "-")
	switch Word(what) {
	case WordReport, WordStop, WordEnded:
		call, err := events.ParseCallID(rest, "-")
		return Word(what), call, err
	}
	return "", events.CallID{}, fmt.Errorf("word %.70q: want report, stop or ended, and a call", s)
}

// ReadChatWork reads the word that lies under a subject, and refuses one that means
// nothing or does not belong there. Also of a word that is refused the chat is that of
// the subject, if this names one.
func ReadChatWork(subject string, body []byte) (ChatWork, error) {
	k, name, err := parseChatWorkSubject(subject)
	if err != nil {
		return ChatWork{}, err
	}
	what, call, err := ParseChatWorkName(name)
	refused := ChatWork{Tenant: k.Tenant, Chat: k.Chat, What: what, Call: call}
	if err != nil {
		return refused, fmt.Errorf("subject %q: %w", subject, err)
	}
	w, err := Read[ChatWork](body)
	switch {
	case err != nil:
		return refused, fmt.Errorf("subject %q: %w", subject, err)
	case w.V != Version:
		return refused, fmt.Errorf("subject %q: v is %d, want %d", subject, w.V, Version)
	case w.Key() != k || w.What != what || w.Call != call:
		return refused, fmt.Errorf("subject %q: the body is about word %.70q and call %s of chat %.140q", subject, w.What, w.Call, w.Key().String())
	}
	return w, nil
}

// Kind implements [Work].
func (ChatWork) Kind() string { return OwesChat }

// Key implements [Work].
func (w ChatWork) Key() events.Key { return events.Key{Tenant: w.Tenant, Chat: w.Chat} }
func (ChatWork) work()             {}

// childNamespace is the UUIDv5 namespace of the names of children; it never changes.
var childNamespace = uuid.MustParse("0d9ad1f4-2f0b-5b52-8f6e-53c1d2c6be47")

// ChildKey names the chat that works for a call. The same call has the same child
// for ever: to make it again finds it.
func ChildKey(parent events.Key, call events.CallID) events.Key {
	name := uuid.NewSHA1(childNamespace, []byte(parent.Tenant+"/"+parent.Chat+"/"+call.String()))
	return events.Key{Tenant: parent.Tenant, Chat: name.String()}
}
