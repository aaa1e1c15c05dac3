package events

import "time"

// Limits of questions to a person.
const (
	MaxQuestions       = 3   // of one call
	MinOptions         = 2   // of a question
	MaxOptions         = 3   // of a question; those behind them are left out
	MaxQuestionIDChars = 64  // of a question's id
	MaxHeaderChars     = 100 // of a question's header, and of an option's label
	MaxQuestionChars   = 2000
	MaxOptionChars     = 500  // of what is said about an option
	MaxAnswerChars     = 4000 // of the answer to one question

	MinQuestionTimeout     = 60 * time.Second
	MaxQuestionTimeout     = 240 * time.Second
	DefaultQuestionTimeout = 120 * time.Second // also in place of one outside of those two

	// MaxHold is how long after it was first held nobody waits for an answer any
	// more, however often it is let go and held again: a chat that waits always has
	// an end in sight.
	MaxHold = 24 * time.Hour
)

// Limits of what a running call may ask a person; see [QuestionAsked].
const (
	MaxAsksPerCall = 8               // one after the other
	AskReserve     = 5 * time.Second // of the call's own time is left when nobody waits for an answer any more
	MinAskTimeout  = 5 * time.Second // with less than that nobody is asked
)

// Question is one question that a model asks a person.
type Question struct {
	ID      string   `json:"id"`     // no other question of the call has it
	Header  string   `json:"header"` // a few words above it
	Text    string   `json:"text"`
	Options []Option `json:"options"` // the one that the model recommends first
}

// Option is an answer that a model proposes.
type Option struct {
	Label       string `json:"label"`       // the answer in a few words
	Description string `json:"description"` // what follows from it
}

// Answer is what was answered to one question: the label of an option, or words
// of the person's own.
type Answer struct {
	Question string `json:"question"` // its id
	Text     string `json:"text"`
}

// QuestionAsked says that a call of a model waits for a person's answer. If nobody
// answers until Due, the first option of each question is taken.
//
// That of ask_user is in the commit of the step that made the call, and its answer is
// the call's result. Any other call asks while its runner is at work, up to
// [MaxAsksPerCall] times, one after the other: it goes on with the answer, and Due is
// at least [AskReserve] before its own time is over. Such a question ends with its call.
type QuestionAsked struct {
	Call      CallID     `json:"call"`
	Questions []Question `json:"questions"`  // one to three
	TimeoutMS int64      `json:"timeout_ms"` // how long an answer is waited for
	Due       Time       `json:"due"`        // when nobody waits any more
}

// QuestionHeld says that somebody who looks at a question stopped its clock, or,
// without Held, let it run on. Due is at most a day after the first of them, however
// many there are.
type QuestionHeld struct {
	Call   CallID `json:"call"`
	Held   bool   `json:"held,omitempty"` // its clock stands still
	LeftMS int64  `json:"left_ms"`        // what is left of the time to answer
	Due    Time   `json:"due"`            // when nobody waits any more
	By     string `json:"by,omitempty"`
}

// QuestionAnswered says what was answered: one answer to each question, in their
// order. The result of a call of ask_user is in the same commit.
type QuestionAnswered struct {
	Call    CallID   `json:"call"`
	Answers []Answer `json:"answers"`           // one to each question
	Expired bool     `json:"expired,omitempty"` // nobody answered in time: these are the first options
	By      string   `json:"by,omitempty"`
}

// EventType implements [Event].
func (QuestionAsked) EventType() Type { return "question.asked.v1" }
func (QuestionAsked) sealed()         {}

// EventType implements [Event].
func (QuestionHeld) EventType() Type { return "question.held.v1" }
func (QuestionHeld) sealed()         {}

// EventType implements [Event].
func (QuestionAnswered) EventType() Type { return "question.answered.v1" }
func (QuestionAnswered) sealed()         {}
