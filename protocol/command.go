package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/oklog/ulid/v2"
)

// Version stands in every body.
const Version = 1

// MaxCommandBytes bounds a command's body; the stream refuses larger ones.
const MaxCommandBytes = 512 << 10

// Verb names a command.
type Verb string

// The verbs this release handles.
const (
	VerbCreate    Verb = "create"
	VerbSend      Verb = "send"
	VerbInterrupt Verb = "interrupt"
	VerbConfigure Verb = "configure"
	VerbRename    Verb = "rename"
	VerbArchive   Verb = "archive"
	VerbUnarchive Verb = "unarchive"
	VerbWithdraw  Verb = "withdraw"
	VerbPromote   Verb = "promote"
	VerbEditInput Verb = "edit-input"
	VerbRetry     Verb = "retry"
	VerbContinue  Verb = "continue"
	VerbFork      Verb = "fork"
	VerbImport    Verb = "import"
	VerbApprove   Verb = "approve"
	VerbSetMode   Verb = "set-mode"
)

// Body is what a command wants. The set is closed.
//
//sumtype:decl
type Body interface {
	Verb() Verb
	body()
}

// Create starts a chat.
type Create struct {
	V        int             `json:"v"`
	Settings events.Settings `json:"settings"`
	Title    string          `json:"title,omitempty"`
}

// Send says something to the assistant. If a turn runs, Mode decides; empty
// means queue. Settings hold for the turn this input starts: with mode steer it
// may go into one that runs already, and they hold for none then.
type Send struct {
	V        int              `json:"v"`
	Parts    []events.Part    `json:"parts"`
	Mode     events.SendMode  `json:"mode,omitempty"`
	Settings *events.Settings `json:"settings,omitempty"`

	// ClientTools is short for those in Settings.
	ClientTools *[]events.ClientTool `json:"client_tools,omitempty"`
}

// Interrupt stops a turn, or what is due as soon as one has ended. Without Turn that is the one that runs when the command
// is decided, perhaps not the one its sender saw, so clients should name one.
type Interrupt struct {
	V      int    `json:"v"`
	Turn   int    `json:"turn,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Configure changes the settings it names, from the next turn on.
type Configure struct {
	V        int             `json:"v"`
	Settings events.Settings `json:"settings"`
}

// Rename sets the title.
type Rename struct {
	V     int    `json:"v"`
	Title string `json:"title"`
}

// Archive takes the chat out of the usual lists.
type Archive struct {
	V int `json:"v"`
}

// Unarchive puts the chat back.
type Unarchive struct {
	V int `json:"v"`
}

// Withdraw takes a waiting input back.
type Withdraw struct {
	V     int    `json:"v"`
	Input string `json:"input"`
}

// Promote makes a waiting input the first of those that wait.
type Promote struct {
	V         int    `json:"v"`
	Input     string `json:"input"`
	Interrupt bool   `json:"interrupt,omitempty"` // stop the turn that runs, if one does, as if the input had been sent so
}

// EditInput makes a waiting input say something else. Its place and mode stay.
type EditInput struct {
	V     int           `json:"v"`
	Input string        `json:"input"`
	Parts []events.Part `json:"parts"`
}

// Retry asks the failed step of a turn again; without Turn, of the last.
type Retry struct {
	V    int `json:"v"`
	Turn int `json:"turn,omitempty"`
}

// Continue goes on where a turn stopped; without Turn, the last.
type Continue struct {
	V    int `json:"v"`
	Turn int `json:"turn,omitempty"`
}

// Fork makes the chat it is addressed to out of another one of the same tenant,
// as that was at Rev; without Rev, as it is when the command is decided. What was
// open there is closed here. The other one is not touched.
type Fork struct {
	V     int    `json:"v"`
	Chat  string `json:"chat"`            // the other one
	Rev   uint64 `json:"rev,omitempty"`   // of the last commit to take over; default: the newest
	Title string `json:"title,omitempty"` // default: that of the other
}

// Import makes the chat it is addressed to out of a history that was uploaded as
// its content, together with all the content that the history names, except what
// is Missing: that was lost before.
type Import struct {
	V       int             `json:"v"`
	History events.Digest   `json:"history"`           // of the commits, each with a line break behind it
	Missing []events.Digest `json:"missing,omitempty"` // content that the history names and nobody has
	Title   string          `json:"title,omitempty"`   // default: that in the history
}

// Verb implements [Body].
func (Fork) Verb() Verb { return VerbFork }
func (Fork) body()      {}

// Verb implements [Body].
func (Import) Verb() Verb { return VerbImport }
func (Import) body()      {}

// Verb implements [Body].
func (Create) Verb() Verb { return VerbCreate }
func (Create) body()      {}

// Verb implements [Body].
func (Send) Verb() Verb { return VerbSend }
func (Send) body()      {}

// Verb implements [Body].
func (Interrupt) Verb() Verb { return VerbInterrupt }
func (Interrupt) body()      {}

// Verb implements [Body].
func (Configure) Verb() Verb { return VerbConfigure }
func (Configure) body()      {}

// Verb implements [Body].
func (Rename) Verb() Verb { return VerbRename }
func (Rename) body()      {}

// Verb implements [Body].
func (Archive) Verb() Verb { return VerbArchive }
func (Archive) body()      {}

// Verb implements [Body].
func (Unarchive) Verb() Verb { return VerbUnarchive }
func (Unarchive) body()      {}

// Verb implements [Body].
func (Withdraw) Verb() Verb { return VerbWithdraw }
func (Withdraw) body()      {}

// Verb implements [Body].
func (Promote) Verb() Verb { return VerbPromote }
func (Promote) body()      {}

// Verb implements [Body].
func (EditInput) Verb() Verb { return VerbEditInput }
func (EditInput) body()      {}

// Verb implements [Body].
func (Retry) Verb() Verb { return VerbRetry }
func (Retry) body()      {}

// Verb implements [Body].
func (Continue) Verb() Verb { return VerbContinue }
func (Continue) body()      {}

// RefusedError turns a command away without leaving a trace in any log: it is
// malformed, or there is no chat to write to. Sending it again gets the same.
// What a chat itself turns down is the event command.rejected instead. Programs
// look at Code, with [errors.As]; the text is for people.
type RefusedError struct {
	Code   events.Code
	Detail string // names what is wrong, and repeats at most a short piece of it
}

func (e *RefusedError) Error() string { return string(e.Code) + ": " + e.Detail }

// maxDetailBytes bounds what a refusal repeats: the name of an unknown field is
// as long as its sender likes.
const maxDetailBytes = 300

func refuse(code events.Code, format string, args ...any) *RefusedError {
	detail := fmt.Sprintf(format, args...)
	if len(detail) > maxDetailBytes {
		detail = strings.ToValidUTF8(detail[:maxDetailBytes], "") + "…"
	}
	return &RefusedError{Code: code, Detail: detail}
}

// DecodeCommand reads the body of a command. The error is a [*RefusedError]:
// every replica of this release would refuse these bytes for ever.
func DecodeCommand(verb string, data []byte) (Body, error) {
	if len(data) > MaxCommandBytes {
		return nil, refuse(events.CodeTooLarge, "body of %d bytes, at most %d are allowed", len(data), MaxCommandBytes)
	}
	switch Verb(verb) {
	case VerbCreate:
		return decodeBody[Create](data)
	case VerbSend:
		return decodeBody[Send](data)
	case VerbInterrupt:
		return decodeBody[Interrupt](data)
	case VerbConfigure:
		return decodeBody[Configure](data)
	case VerbRename:
		return decodeBody[Rename](data)
	case VerbArchive:
		return decodeBody[Archive](data)
	case VerbUnarchive:
		return decodeBody[Unarchive](data)
	case VerbWithdraw:
		return decodeBody[Withdraw](data)
	case VerbPromote:
		return decodeBody[Promote](data)
	case VerbEditInput:
		return decodeBody[EditInput](data)
	case VerbRetry:
		return decodeBody[Retry](data)
	case VerbContinue:
		return decodeBody[Continue](data)
	case VerbEdit:
		return decodeBody[Edit](data)
	case VerbRegenerate:
		return decodeBody[Regenerate](data)
	case VerbSelectBranch:
		return decodeBody[SelectBranch](data)
	case VerbCompact:
		return decodeBody[Compact](data)
	case VerbClear:
		return decodeBody[Clear](data)
	case VerbRestore:
		return decodeBody[Restore](data)
	case VerbFork:
		return decodeBody[Fork](data)
	case VerbImport:
		return decodeBody[Import](data)
	case VerbAnswer:
		return decodeBody[Answer](data)
	case VerbApprove:
		return decodeBody[Approve](data)
	case VerbSetMode:
		return decodeBody[SetMode](data)
	case VerbExtend:
		return decodeBody[Extend](data)
	case VerbErase:
		return decodeErase(data)
	case VerbClientResult:
		return decodeBody[ClientResult](data)
	}
	return nil, refuse(events.CodeUnknownVerb, "verb %q", verb)
}

func decodeBody[T Body](data []byte) (Body, error) {
	version, err := Read[struct {
		V *int `json:"v"`
	}](data)
	if err != nil {
		return nil, refuse(events.CodeBadCommand, "body: %s", Unreadable(err))
	}
	if version.V == nil || *version.V != Version {
		return nil, refuse(events.CodeBadCommand, `body: want "v":%d`, Version)
	}
	if body, ok := readExactly[T](data); ok {
		return whole(body)
	}
	var body T
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		return nil, refuse(events.CodeBadCommand, "body: %s", Unreadable(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(events.CodeBadCommand, "body: more than one JSON value")
	}
	return whole(body)
}

// whole is a body that says what it must.
func whole(body Body) (Body, error) {
	if wrong := missing(body); wrong != "" {
		return nil, refuse(events.CodeBadCommand, "body: %s", wrong)
	}
	return body, nil
}

// CommandID is the id of a stored command: the header's if it is a ULID, else
// one derived from where and when it was stored, the same at every delivery.
// The error is a [*RefusedError] if the header is there and no ULID.
func CommandID(header string, stored time.Time, sequence uint64) (string, error) {
	if header != "" {
		id, err := ulid.ParseStrict(header)
		if err != nil || id.String() != header {
			return "", refuse(events.CodeBadCommand, "header %s: want a ULID in upper case", HeaderID)
		}
		return header, nil
	}
	return DerivedCommandID(stored, sequence), nil
}

// DerivedCommandID is the id of a command that brought none. Every replica
// makes the same one, for it consists of where the message lies: a ULID of when
// it was stored, whose random part is its sequence, big-endian.
func DerivedCommandID(stored time.Time, sequence uint64) string {
	var id ulid.ULID
	_ = id.SetTime(uint64(stored.UnixMilli())) // fails after the year 10889
	binary.BigEndian.PutUint64(id[8:], sequence)
	return id.String()
}

// Reply is the outcome of a command, read from the log: the same at every asking.
type Reply struct {
	ID string `json:"id"`
	OK bool   `json:"ok"`

	// Set if OK. Rev is the commit that decided.
	Rev   uint64 `json:"rev,omitempty"`
	Turn  int    `json:"turn,omitempty"`  // the turn concerned, if there is one
	Input string `json:"input,omitempty"` // the input accepted, if there is one

	// Set if not OK.
	Code    events.Code `json:"code,omitempty"`
	Message string      `json:"message,omitempty"`
	Status  string      `json:"status,omitempty"` // what the thing asked about is now
}
