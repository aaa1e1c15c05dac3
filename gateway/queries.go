package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
)

// The questions are parameters of the address, and as JSON what is asked on the bus.
type (
	headQuestion struct {
		Chat   string `path:"chat"     json:"chat"`
		MinRev uint64 `query:"min_rev" json:"min_rev,omitempty" doc:"Wait for that commit, for 2 s at most."`
	}
	pageQuestion struct {
		Chat   string `path:"chat"     json:"chat"`
		At     point  `query:"at"      json:"at,omitempty"      doc:"As it was then: a rev, or a time as RFC 3339 has it. Default: now."`
		MinRev uint64 `query:"min_rev" json:"min_rev,omitempty" doc:"Wait for that commit, for 2 s at most."`
		After  int    `query:"after"   json:"after,omitempty"   doc:"Messages with a higher number; the next of an answer."`
		Limit  int    `query:"limit"   json:"limit,omitempty"   doc:"How many at most. Default: 100."`
		Branch int    `query:"branch"  json:"branch,omitempty"  doc:"Up to the end of that turn, whatever branch is selected."`
	}
	commitsQuestion struct {
		Chat    string `path:"chat"     json:"chat"`
		After   uint64 `query:"after"   json:"after,omitempty"   doc:"Commits with a higher rev; the next of an answer."`
		Through uint64 `query:"through" json:"through,omitempty" doc:"The last rev. Default: the newest."`
		Limit   int    `query:"limit"   json:"limit,omitempty"   doc:"How many at most. Default: 100."`
	}
	stateQuestion struct {
		Chat string `path:"chat" json:"chat"`
		Rev  uint64 `query:"rev" json:"rev,omitempty" doc:"As it was then. Default: now."`
	}
	promptQuestion struct {
		Chat string `path:"chat"  json:"chat"`
		Step string `query:"step" json:"step,omitempty" doc:"Of that step, such as 3.2."`
		Rev  uint64 `query:"rev"  json:"rev,omitempty"  doc:"Of the newest step that was requested up to then. Default: now."`
	}
	verifyQuestion struct {
		Chat string `path:"chat" json:"chat"`
	}
	outcomeQuestion struct {
		Chat string `path:"chat" json:"chat"`
		ID   string `path:"id"   json:"id"`
	}
	chatsQuestion struct {
		After    listing.Cursor   `query:"after"    json:"after,omitempty"    doc:"Older ones than that; the next of an answer."`
		Before   listing.Cursor   `query:"before"   json:"before,omitempty"   doc:"Newer ones than that; the previous of an answer."`
		Limit    int              `query:"limit"    json:"limit,omitempty"    doc:"How many at most. Default: 50."`
		Owner    string           `query:"owner"    json:"owner,omitempty"    doc:"Only those that this one made."`
		Status   listing.Status   `query:"status"   json:"status,omitempty"   doc:"Only those that do this: idle, running, interrupting, failed."`
		Agent    string           `query:"agent"    json:"agent,omitempty"    doc:"Only those of this agent."`
		Archived listing.Archived `query:"archived" json:"archived,omitempty" doc:"Archived ones too, or only. Default: they are left out."`
		Parent   string           `query:"parent"   json:"parent,omitempty"   doc:"Only those that work for calls of this chat."`
		Children bool             `query:"children" json:"children,omitempty" doc:"Those that work for others, too."`
		Chat     string           `query:"chat"     json:"chat,omitempty"     doc:"Only this one."`
		MinRev   uint64           `query:"min_rev"  json:"min_rev,omitempty"  doc:"With chat: wait for that commit, for 2 s at most."`
	}
	searchQuestion struct {
		Text   string         `query:"text"   json:"text"             doc:"Words to find." required:"true"`
		After  listing.Cursor `query:"after"  json:"after,omitempty"  doc:"Older ones than that; the next of an answer."`
		Before listing.Cursor `query:"before" json:"before,omitempty" doc:"Newer ones than that; the previous of an answer."`
		Limit  int            `query:"limit"  json:"limit,omitempty"  doc:"How many at most. Default: 50."`
		Chat   string         `query:"chat"   json:"chat,omitempty"   doc:"Only in this chat."`
		Owner  string         `query:"owner"  json:"owner,omitempty"  doc:"Only in chats that this one made."`
		Kind   listing.Kind   `query:"kind"   json:"kind,omitempty"   doc:"Only this: user, assistant, title."`
	}
	usageQuestion struct {
		By    listing.UsageBy `query:"by"    json:"by,omitempty"    doc:"A row for each day, model, agent or chat. Default: day."`
		From  string          `query:"from"  json:"from,omitempty"  doc:"The first day, as 2026-11-30."`
		To    string          `query:"to"    json:"to,omitempty"    doc:"The last day."`
		Chat  string          `query:"chat"  json:"chat,omitempty"  doc:"Only this chat."`
		Model string          `query:"model" json:"model,omitempty" doc:"Only this model."`
		Agent string          `query:"agent" json:"agent,omitempty" doc:"Only this agent."`
		After listing.Cursor  `query:"after" json:"after,omitempty" doc:"The next of an answer."`
		Limit int             `query:"limit" json:"limit,omitempty" doc:"How many rows at most. Default: 50."`
	}
	openQuestion struct {
		Kinds []listing.OpenKind `query:"kinds" json:"kinds,omitempty" doc:"Only these, with commas: approval, question, client, budget, failure."`
		After listing.Cursor     `query:"after" json:"after,omitempty" doc:"The next of an answer."`
		Limit int                `query:"limit" json:"limit,omitempty" doc:"How many at most. Default: 50."`
		Chat  string             `query:"chat"  json:"chat,omitempty"  doc:"Only in this chat."`
		Owner string             `query:"owner" json:"owner,omitempty" doc:"Only in chats that this one made, and in those that work for them."`
	}
)

// point is a point of a chat's log as an address has it: a rev or a time.
type point string

// MarshalJSON implements [json.Marshaler]: a rev is a number, a time a string.
func (p point) MarshalJSON() ([]byte, error) {
	for _, c := range p {
		if c < '0' || c > '9' {
			return json.Marshal(string(p))
		}
	}
	return []byte(p), nil
}

// Answers of queries that are only handed on.
type (
	anyAnswer    struct{}
	verifyAnswer struct {
		Rev        uint64            `json:"rev"`
		Violations []json.RawMessage `json:"violations"`
	}
)

// queries makes an operation of each query.
func (a *api) queries() {
	ask[chatsQuestion, listing.Chats](a, listing.QueryChats, "/v1/chats", "list-chats", "List chats, those where something happened last first.")
	ask[headQuestion, transcript.Head](a, transcript.QueryHead, "/v1/chats/{chat}", "get-chat", "What a chat does now.")
	ask[pageQuestion, transcript.Page](a, transcript.QueryPage, "/v1/chats/{chat}/transcript", "get-transcript", "A page of a chat as people read it.")
	ask[commitsQuestion, transcript.Commits](a, transcript.QueryCommits, "/v1/chats/{chat}/commits", "get-commits", "A chat's commits as they are stored.")
	ask[headQuestion, transcript.Branches](a, transcript.QueryBranches, "/v1/chats/{chat}/branches", "get-branches", "Which branches a chat has.")
	ask[stateQuestion, anyAnswer](a, "state", "/v1/chats/{chat}/state", "get-state", "What decisions about a chat are made from, at any rev.")
	ask[promptQuestion, anyAnswer](a, "prompt", "/v1/chats/{chat}/prompt", "get-prompt", "What a model was shown for a step.")
	ask[verifyQuestion, verifyAnswer](a, "verify", "/v1/chats/{chat}/verify", "verify-chat", "Whether a chat's log keeps every rule.")
	ask[searchQuestion, listing.Hits](a, listing.QuerySearch, "/v1/search", "search", "Find words in what was said.")
	ask[usageQuestion, listing.Usage](a, listing.QueryUsage, "/v1/usage", "get-usage", "What was used, and what it cost.")
	ask[openQuestion, listing.Open](a, listing.QueryOpen, "/v1/open", "list-open", "What waits for somebody.")
	ask[outcomeQuestion, protocol.Reply](a, transcript.QueryCommand, "/v1/commands/{chat}/{id}", "get-outcome",
		"What was decided about a command, at any later time. Of one that is not decided yet it says unavailable: ask again.")
}

// ask makes an operation that asks a projection and hands on what it answers.
func ask[Question, Answer any](a *api, query, path, id, summary string) {
	huma.Register(a.huma, huma.Operation{
		Method: http.MethodGet, Path: path, OperationID: id, Summary: summary,
		Responses: responses[Answer](a, http.StatusOK, "OK"),
	}, func(ctx context.Context, q *Question) (*answer, error) {
		i, err := tenant(ctx)
		if err != nil {
			return nil, err
		}
		var found json.RawMessage
		if err := a.chats.Query(ctx, i.Tenant, query, q, &found); err != nil {
			return nil, a.failed(ctx, err)
		}
		return &answer{Status: http.StatusOK, ContentType: "application/json", Body: append(found, '\n')}, nil
	})
}
