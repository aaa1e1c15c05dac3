package events

import "net/http"

// Code says why a command was refused. Clients match on it; messages are for people.
type Code string

// The codes.
const (
	CodeBadCommand       Code = "bad_command"
	CodeUnknownVerb      Code = "unknown_verb"
	CodeTooLarge         Code = "too_large"
	CodeUnknownChat      Code = "unknown_chat"
	CodeExists           Code = "exists"
	CodeErased           Code = "erased"
	CodeChatStopped      Code = "chat_stopped"
	CodeBusy             Code = "busy"
	CodeQueueFull        Code = "queue_full"
	CodeNotRunning       Code = "not_running"
	CodeAlreadyFinished  Code = "already_finished"
	CodeUnknownTurn      Code = "unknown_turn"
	CodeUnknownInput     Code = "unknown_input"
	CodeUnknownCall      Code = "unknown_call"
	CodeAlreadyResolved  Code = "already_resolved"
	CodeArgumentsChanged Code = "arguments_changed"
	CodeUnknownQuestion  Code = "unknown_question"
	CodeInvalidAnswer    Code = "invalid_answer"
	CodeInvalidSettings  Code = "invalid_settings"
	CodeInvalidHistory   Code = "invalid_history"
	CodeNothingToCompact Code = "nothing_to_compact"
	CodeNotIdle          Code = "not_idle"
	CodeLimitReached     Code = "limit_reached"
	CodeUndeliverable    Code = "undeliverable"
	CodeUnavailable      Code = "unavailable"
)

// Exit codes of the command line that a refusal can lead to.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnreachable = 5
	exitIntegrity   = 9
)

// CodeInfo is what a code means at the edges.
type CodeInfo struct {
	Code    Code
	Exit    int    // exit code of the command line
	HTTP    int    // status of the gateway and of query errors
	Meaning string // one sentence for the documentation
}

// Codes is the one table of codes, in the order of the documentation.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeBadCommand, exitUsage, http.StatusBadRequest, "The body is no JSON of this verb, or has an unknown or malformed field."},
		{CodeUnknownVerb, exitUsage, http.StatusNotFound, "No such verb."},
		{CodeTooLarge, exitUsage, http.StatusRequestEntityTooLarge, "The command or one of its parts is over its limit."},
		{CodeUnknownChat, exitNotFound, http.StatusNotFound, "The chat does not exist; create comes first."},
		{CodeExists, exitConflict, http.StatusConflict, "A chat with this id exists already."},
		{CodeErased, exitNotFound, http.StatusGone, "The chat was erased."},
		{CodeChatStopped, exitIntegrity, http.StatusConflict, "The chat's log is damaged; it takes no command until an operator has looked."},
		{CodeBusy, exitConflict, http.StatusConflict, "A turn runs, and the input was not to wait."},
		{CodeQueueFull, exitConflict, http.StatusTooManyRequests, "As many inputs wait as a chat may hold."},
		{CodeNotRunning, exitConflict, http.StatusConflict, "No turn is running."},
		{CodeAlreadyFinished, exitConflict, http.StatusConflict, "That turn has ended."},
		{CodeUnknownTurn, exitNotFound, http.StatusNotFound, "No turn of this number was ever started."},
		{CodeUnknownInput, exitNotFound, http.StatusNotFound, "No input of this id waits."},
		{CodeUnknownCall, exitNotFound, http.StatusNotFound, "No such call."},
		{CodeAlreadyResolved, exitConflict, http.StatusConflict, "Somebody decided this before."},
		{CodeArgumentsChanged, exitConflict, http.StatusConflict, "The call's arguments are not the ones decided on."},
		{CodeUnknownQuestion, exitNotFound, http.StatusNotFound, "No such question is open."},
		{CodeInvalidAnswer, exitUsage, http.StatusUnprocessableEntity, "The answer does not fit the question."},
		{CodeInvalidSettings, exitUsage, http.StatusUnprocessableEntity, "A setting has a value that is not allowed."},
		{CodeInvalidHistory, exitIntegrity, http.StatusUnprocessableEntity, "What a chat is to begin with is no whole, unbroken log of one chat that this release can read."},
		{CodeNothingToCompact, exitConflict, http.StatusConflict, "Nothing could be made shorter."},
		{CodeNotIdle, exitConflict, http.StatusConflict, "This works only while no turn runs, or while the chat is still at the rev that was named."},
		{CodeLimitReached, exitConflict, http.StatusTooManyRequests, "A limit of the tenant or the chat is reached."},
		{CodeUndeliverable, exitFailure, http.StatusUnprocessableEntity, "The command could not be decided after several tries and was set aside."},
		{CodeUnavailable, exitUnreachable, http.StatusServiceUnavailable, "Not now; ask again."},
	}
}

// Info is the table's row of c; an unknown code is a plain failure.
func (c Code) Info() CodeInfo {
	for _, info := range Codes() {
		if info.Code == c {
			return info
		}
	}
	return CodeInfo{Code: c, Exit: exitFailure, HTTP: http.StatusInternalServerError}
}
