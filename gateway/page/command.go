package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/protocol"
)

// command sends what a form says to a chat. What comes of it the stream shows.
//
// The script of the page gives each form an id before it is sent, and the same one
// again until there was an answer: what is sent twice is one command.
func (p *Page) command(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	k, err := key(r, who)
	if err != nil {
		return err
	}
	if err := form(w, r); err != nil {
		return err
	}
	id := commandID(r.PostForm.Get("id"))
	if protocol.Verb(r.PathValue("verb")) == protocol.VerbFork {
		return p.fork(w, r, who, k, id)
	}
	body, err := bodyOf(protocol.Verb(r.PathValue("verb")), r.PostForm)
	if err != nil {
		return err
	}
	reply, err := p.chats.Command(r.Context(), k, who.By, id, body)
	if err == nil && !reply.OK {
		err = refused(reply)
	}
	if err != nil {
		return err
	}
	if !isFragment(r) {
		return elsewhere(w, r, "/c/"+backTo(r.PostForm, k.Chat))
	}
	return p.show(w, http.StatusOK, "sent", sent{Composer: body.Verb() == protocol.VerbSend, Chat: k.Chat})
}

// sent is the answer to a command that was taken.
type sent struct {
	Composer bool // what was said is not in the form any more
	Chat     string
}

// backTo is the chat whose page the form stood on: a call of a child is decided on the
// page of its parent, too.
func backTo(f url.Values, chat string) string {
	from := events.Key{Tenant: "t", Chat: f.Get("from")}
	if from.Validate() == nil {
		return from.Chat
	}
	return chat
}

// fork makes a new chat out of one, and goes there.
func (p *Page) fork(w http.ResponseWriter, r *http.Request, who identity.Identity, k events.Key, id string) error {
	rev, err := number[uint64](r.PostForm, "rev")
	if err != nil {
		return err
	}
	made := events.Key{Tenant: k.Tenant, Chat: id}
	reply, err := p.chats.Command(r.Context(), made, who.By, id, protocol.Fork{V: protocol.Version, Chat: k.Chat, Rev: rev})
	if err == nil && !reply.OK {
		err = refused(reply)
	}
	if err != nil {
		return err
	}
	return elsewhere(w, r, "/c/"+made.Chat)
}

// refused is a no that is on record.
func refused(reply protocol.Reply) error {
	return &protocol.RefusedError{Code: reply.Code, Detail: reply.Message}
}

// bodyOf is the command that a form means.
func bodyOf(verb protocol.Verb, f url.Values) (protocol.Body, error) {
	const v = protocol.Version
	turn, err := number[int](f, "turn")
	if err != nil {
		return nil, err
	}
	text := []events.Part{events.Text(lines(f.Get("text")))}
	switch verb {
	case protocol.VerbSend:
		return protocol.Send{V: v, Parts: text, Mode: events.SendMode(f.Get("mode"))}, nil
	case protocol.VerbInterrupt:
		return protocol.Interrupt{V: v, Turn: turn, Reason: f.Get("reason")}, nil
	case protocol.VerbRename:
		return protocol.Rename{V: v, Title: f.Get("title")}, nil
	case protocol.VerbArchive:
		return protocol.Archive{V: v}, nil
	case protocol.VerbUnarchive:
		return protocol.Unarchive{V: v}, nil
	case protocol.VerbWithdraw:
		return protocol.Withdraw{V: v, Input: f.Get("input")}, nil
	case protocol.VerbPromote:
		return protocol.Promote{V: v, Input: f.Get("input"), Interrupt: f.Get("interrupt") != ""}, nil
	case protocol.VerbEditInput:
		return protocol.EditInput{V: v, Input: f.Get("input"), Parts: text}, nil
	case protocol.VerbRetry:
		return protocol.Retry{V: v, Turn: turn}, nil
	case protocol.VerbContinue:
		return protocol.Continue{V: v, Turn: turn}, nil
	case protocol.VerbEdit:
		return protocol.Edit{V: v, Turn: turn, Input: f.Get("input"), Parts: text}, nil
	case protocol.VerbRegenerate:
		return protocol.Regenerate{V: v, Turn: turn}, nil
	case protocol.VerbSelectBranch:
		return protocol.SelectBranch{V: v, Turn: turn}, nil
	case protocol.VerbCompact:
		return protocol.Compact{V: v}, nil
	case protocol.VerbClear:
		return protocol.Clear{V: v}, nil
	case protocol.VerbRestore:
		return protocol.Restore{V: v}, nil
	case protocol.VerbSetMode:
		return modeOf(f), nil
	case protocol.VerbApprove:
		return approvalOf(f)
	case protocol.VerbAnswer:
		return answerOf(f)
	case protocol.VerbExtend:
		return extensionOf(f, turn)
	default:
		return nil, trouble{Status: http.StatusNotFound, Title: "No such command", Detail: "This page does not send it."}
	}
}

func modeOf(f url.Values) protocol.Body {
	m := protocol.SetMode{V: protocol.Version, Approval: events.ApprovalMode(f.Get("approval"))}
	if plan := f.Get("plan"); plan != "" {
		m.Plan = new(plan == "true")
	}
	return m
}

// approvalOf is a decision about a call. With arguments it is another call that is
// approved.
func approvalOf(f url.Values) (protocol.Body, error) {
	call, err := callOf(f)
	if err != nil {
		return nil, err
	}
	a := protocol.Approve{
		V: protocol.Version, Call: call, Decision: protocol.ApproveDecision(f.Get("decision")), Arguments: events.Digest(f.Get("digest")),
	}
	if a.Decision == protocol.DecideDeny {
		a.Reason, a.Stop = strings.TrimSpace(f.Get("reason")), f.Get("stop") != ""
		return a, nil
	}
	if args := strings.TrimSpace(f.Get("args")); args != "" {
		if !json.Valid([]byte(args)) {
			return nil, trouble{Status: http.StatusUnprocessableEntity, Title: "These arguments are no JSON", Detail: "Nothing was decided. Please correct them and try again."}
		}
		a.Args = json.RawMessage(args)
	}
	return a, nil
}

// Names of fields that answer a question, before its id.
const (
	fieldOption = "option:" // the label of an option that was chosen
	fieldWords  = "words:"  // what the person says instead
)

// answerOf is the answers to the questions of a call, or holds its clock.
func answerOf(f url.Values) (protocol.Body, error) {
	call, err := callOf(f)
	if err != nil {
		return nil, err
	}
	a := protocol.Answer{V: protocol.Version, Call: call}
	if hold := f.Get("hold"); hold != "" {
		a.Hold = new(hold == "true")
		return a, nil
	}
	for _, id := range f["question"] {
		text := strings.TrimSpace(f.Get(fieldWords + id))
		if text == "" {
			text = f.Get(fieldOption + id)
		}
		if text == "" {
			return nil, trouble{Status: http.StatusUnprocessableEntity, Title: "Not every question is answered", Detail: "Choose an option or write an answer for each."}
		}
		a.Answers = append(a.Answers, events.Answer{Question: id, Text: text})
	}
	return a, nil
}

// maxExtension bounds what a form adds to a budget, in its own unit.
const maxExtension = 1e9

// extensionOf is more of a budget: tokens, money or minutes.
func extensionOf(f url.Values, turn int) (protocol.Body, error) {
	e := protocol.Extend{V: protocol.Version, Turn: turn, Chat: f.Get("chat") != ""}
	more, err := strconv.ParseFloat(strings.TrimSpace(f.Get("add")), 64)
	if err != nil || !(more > 0 && more <= maxExtension) {
		return nil, trouble{Status: http.StatusUnprocessableEntity, Title: "How much more?", Detail: "A number above 0 is wanted."}
	}
	switch f.Get("unit") {
	case "money":
		e.Add.CostMicros = int64(more * 1e6)
	case "minutes":
		e.Add.TimeMS = int64(more * float64(time.Minute.Milliseconds()))
	default:
		e.Add.Tokens = int64(more)
	}
	if e.Chat {
		e.Turn = 0
	}
	return e, nil
}

func callOf(f url.Values) (events.CallID, error) {
	id, err := events.ParseCallID(f.Get("call"), ".")
	if err != nil {
		return id, trouble{Status: http.StatusBadRequest, Title: "No such call", Detail: "The form names none."}
	}
	return id, nil
}

// number is a number of a form, 0 if it has none of that name.
func number[N int | uint64](f url.Values, name string) (N, error) {
	text := f.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, trouble{Status: http.StatusBadRequest, Title: "This is no number", Detail: "The form has something else as " + name + "."}
	}
	return N(n), nil
}
