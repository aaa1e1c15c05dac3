package protocol

import "github.com/everturn/everturn/events"

// Ask asks a person, on behalf of a call that runs. The runner sends it again every
// now and then, as it is, until it is told what became of it: nobody remembers who
// asked, and the answer stands in the log.
//
// A call that runs once more asks the same and is given the answer that is there. N
// tells apart the times at which it asks the very same questions: 1, and one more each
// time. Questions are as those of ask_user.
type Ask struct {
	V         int               `json:"v"`
	Call      events.CallID     `json:"call"`
	Rev       uint64            `json:"rev"`                  // that of the work
	Claim     string            `json:"claim"`                // by which the call runs
	N         int               `json:"n"`                    // which time it asks the very same, from 1
	Questions []events.Question `json:"questions"`            // one to three
	TimeoutMS int64             `json:"timeout_ms,omitempty"` // how long to wait for a person at most; 0: as long as may be
}

// AskVerdict is the answer to an [Ask].
type AskVerdict string

// The verdicts. After the first and the last one the runner asks again.
const (
	AskWaiting     AskVerdict = "waiting"  // for a person, or for the answer to an earlier question of the call
	AskAnswered    AskVerdict = "answered" // Answers has what was answered
	AskOver        AskVerdict = "over"     // the call is not wanted any more
	AskRefused     AskVerdict = "refused"  // nobody is asked that: Why says what is wrong with it
	AskUnavailable AskVerdict = "unavailable"
)

// AskAnswer answers an [Ask]. Why is for people.
type AskAnswer struct {
	Answer  AskVerdict      `json:"answer"`
	Why     string          `json:"why,omitempty"`
	Answers []events.Answer `json:"answers,omitempty"` // one to each question, in their order
	Expired bool            `json:"expired,omitempty"` // nobody answered in time: these are the first options
	By      string          `json:"by,omitempty"`      // who answered
}
