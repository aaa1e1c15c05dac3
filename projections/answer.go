package projections

import "github.com/everturn/everturn/protocol/transcript"

// Status and the types below are what projections answer, and what they are asked.
type (
	Status            = transcript.Status
	Head              = transcript.Head
	Role              = transcript.Role
	Message           = transcript.Message
	Part              = transcript.Part
	CallStatus        = transcript.CallStatus
	Call              = transcript.Call
	Question          = transcript.Question
	TurnStatus        = transcript.TurnStatus
	Turn              = transcript.Turn
	Waiting           = transcript.Waiting
	Mark              = transcript.Mark
	Point             = transcript.Point
	CommandRequest    = transcript.CommandRequest
	Transcript        = transcript.Page
	TranscriptRequest = transcript.Request
	ChatRequest       = transcript.HeadRequest
	Branch            = transcript.Branch
	Branches          = transcript.Branches
	BranchesRequest   = transcript.BranchesRequest
	Commits           = transcript.Commits
	CommitsRequest    = transcript.CommitsRequest
)

// How chats, turns and calls stand, and who speaks.
const (
	StatusIdle         = transcript.StatusIdle
	StatusRunning      = transcript.StatusRunning
	StatusInterrupting = transcript.StatusInterrupting
	StatusFailed       = transcript.StatusFailed
	RoleUser           = transcript.RoleUser
	RoleAssistant      = transcript.RoleAssistant
	CallWaiting        = transcript.CallWaiting
	MarkCompacted      = transcript.MarkCompacted
	MarkFailed         = transcript.MarkFailed
	MarkCleared        = transcript.MarkCleared
	MarkRestored       = transcript.MarkRestored
	MarkSkill          = transcript.MarkSkill
	CallRequested      = transcript.CallRequested
	CallStarted        = transcript.CallStarted
	CallAsking         = transcript.CallAsking
	CallClient         = transcript.CallClient
	TurnRunning        = transcript.TurnRunning
	TurnCompleted      = transcript.TurnCompleted
	TurnFailed         = transcript.TurnFailed
	TurnInterrupted    = transcript.TurnInterrupted
)
