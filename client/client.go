// Package client is the Go client of Everturn: it sends commands, asks queries
// and watches chats, over any NATS connection that may do so.
//
// It needs nothing but the subjects of its tenant. Everything it does can be done
// with a plain NATS client; docs/COMMANDS.md shows how.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Client speaks for one tenant. It is safe for concurrent use.
type Client struct {
	nc     *nats.Conn
	tenant string
	by     string
}

// DefaultTenant is the tenant where there is only one.
const DefaultTenant = "default"

// How long one exchange may take before it is tried again. The whole is bounded
// by the caller's context.
const (
	storeTry  = 5 * time.Second
	replyTry  = 2 * time.Second
	queryTry  = 5 * time.Second
	storeWait = 250 * time.Millisecond // between two tries

	// electionTime is longer than a cluster takes to find a new leader. Until
	// then nobody takes commands there.
	electionTime = 20 * time.Second
)

// replyChan is how many replies to one command may wait. It has one, or the same
// again.
const replyChan = 16

// New makes a client on an open connection, which stays the caller's. By is who
// the commands are said to come from; it may be empty.
func New(nc *nats.Conn, tenant, by string) *Client {
	if tenant == "" {
		tenant = DefaultTenant
	}
	return &Client{nc: nc, tenant: tenant, by: by}
}

// NewID mints an id for a chat or a command.
func NewID() string { return ulid.Make().String() }

// Key names a chat of the client's tenant.
func (c *Client) Key(chat string) events.Key { return events.Key{Tenant: c.tenant, Chat: chat} }

// RejectedError is a command that was decided with a no. Match its Code.
type RejectedError struct {
	protocol.Reply
}

func (e *RejectedError) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// UndecidedError is a command that is stored and whose outcome was not waited for
// to the end: it takes effect or is rejected on record, so that sending it again
// would be a second one. [Client.Outcome] tells what became of it.
type UndecidedError struct {
	ID  string // of the command
	Err error  // why the waiting ended: the context's error, or that of the connection
}

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("stored as %s: it will be decided; do not send it again", e.ID)
}

// Unwrap gives why the waiting ended.
func (e *UndecidedError) Unwrap() error { return e.Err }

// ErrNoStreams means that nothing on the server takes commands: the streams were
// not set up, or the connection is not allowed to use them. In a cluster it comes
// after a while only, since the leader that takes them may be about to be elected.
var ErrNoStreams = errors.New("no stream takes this command; set the streams up with `everturn streams apply`, or check the permissions")

// ErrNotAllowed means that the server refuses what the connection's user tries.
var ErrNotAllowed = errors.New("the server does not allow this user to do that; check whose chats they are (--tenant) and the credentials")

// ErrNoService means that nobody answers queries: no projection is running.
var ErrNoService = errors.New("nobody answers queries; is a projection running?")

// Command stores a command and waits until it is decided. A no is a
// [*RejectedError].
//
// If ctx ends first the command may still take effect: once it is stored the error
// is an [*UndecidedError], before that it names the id. Trying again inside
// Command never makes two commands of one.
func (c *Client) Command(ctx context.Context, chat string, body protocol.Body) (protocol.Reply, error) {
	id := NewID()
	r, err := c.CommandWithID(ctx, chat, id, body)
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*UndecidedError)) {
		return r, fmt.Errorf("command %s: %w", id, err)
	}
	return r, err
}

// CommandWithID is [Client.Command] with an id the caller minted: the same id is
// the same command, however often it is sent.
func (c *Client) CommandWithID(ctx context.Context, chat, id string, body protocol.Body) (protocol.Reply, error) {
	if err := errors.Join(c.Key(chat).Validate(), validID(id)); err != nil {
		return protocol.Reply{}, err
	}
	// A channel of our own: the library's holds 65,536 messages, half a megabyte.
	replies := make(chan *nats.Msg, replyChan)
	subscription, err := c.nc.ChanSubscribe(protocol.ReplySubject(c.tenant, id), replies)
	if err != nil {
		return protocol.Reply{}, fmt.Errorf("subscribe to the reply: %w", err)
	}
	defer func() { _ = subscription.Unsubscribe() }() // fails only on a closed connection
	if err := c.Submit(ctx, chat, id, body); err != nil {
		return protocol.Reply{}, err
	}
	return c.reply(ctx, chat, id, replies)
}

// validID judges an id as orchestrators do: they would refuse the command, and its
// sender wait for an outcome that is never recorded.
func validID(id string) error {
	if id == "" {
		return errors.New("command id: want a ULID, as NewID makes them")
	}
	_, err := protocol.CommandID(id, time.Time{}, 0)
	return err
}

// Submit stores a command and does not wait until it is decided. Without an
// error it is accepted: it takes effect, in the order in which commands of the
// chat were stored, or is rejected on record. [protocol.ErrStorageFull] means
// that there is no room for commands now, and that this one was not stored.
func (c *Client) Submit(ctx context.Context, chat, id string, body protocol.Body) error {
	key := c.Key(chat)
	if err := errors.Join(key.Validate(), validID(id)); err != nil {
		return err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", body.Verb(), err)
	}
	msg := nats.NewMsg(protocol.CommandSubject(key, string(body.Verb())))
	msg.Data = data
	msg.Header.Set(protocol.HeaderID, id)
	if c.by != "" {
		msg.Header.Set(protocol.HeaderBy, c.by)
	}
	carryTrace(ctx, msg.Header)
	return c.store(ctx, msg)
}

// store publishes until the stream has taken the message.
func (c *Client) store(ctx context.Context, msg *nats.Msg) error {
	elected := time.Now().Add(electionTime)
	for {
		try, cancel := context.WithTimeout(ctx, storeTry)
		answer, err := c.nc.RequestMsgWithContext(try, msg)
		cancel()
		switch {
		case err == nil:
			return stored(msg, answer.Data)
		case errors.Is(err, nats.ErrMaxPayload): // the server takes no message of this size at all
			return tooLarge(msg)
		case errors.Is(err, nats.ErrNoResponders):
			if c.nc.ConnectedClusterName() == "" || time.Now().After(elected) {
				return ErrNoStreams
			}
		case c.refused(msg.Subject):
			return fmt.Errorf("store the command: %w", ErrNotAllowed)
		case ctx.Err() != nil, errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("store the command: %w", err)
		}
		select { // the same id again is the same command
		case <-ctx.Done():
			return fmt.Errorf("store the command: %w", err)
		case <-time.After(storeWait):
		}
	}
}

// refused reports whether the server has refused a message on that subject. It
// says so apart from the message, which is never answered, and in words only.
func (c *Client) refused(subject string) bool {
	err := c.nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(subject))
}

// Answers of the stream, by their code.
const (
	codeTooLarge    = 10054 // the message is over its limit
	codeAccountFull = 10002
	codeServerFull  = 10023
	codeStoreFailed = 10077 // the stream's limit, or its disk
)

func stored(msg *nats.Msg, ack []byte) error {
	var answer struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(ack, &answer); err != nil {
		return fmt.Errorf("store the command: the server's answer is no acknowledgement: %w", err)
	}
	switch {
	case answer.Error == nil:
		return nil
	case answer.Error.Code == codeTooLarge:
		return tooLarge(msg)
	case answer.Error.Code == codeAccountFull, answer.Error.Code == codeServerFull, answer.Error.Code == codeStoreFailed:
		return fmt.Errorf("store the command: %w: %s", protocol.ErrStorageFull, answer.Error.Description)
	}
	return fmt.Errorf("store the command: %s", answer.Error.Description)
}

// tooLarge is the no to a command that was not stored because of its size.
func tooLarge(msg *nats.Msg) error {
	return &RejectedError{Reply: protocol.Reply{
		ID: msg.Header.Get(protocol.HeaderID), Code: events.CodeTooLarge,
		Message: fmt.Sprintf("body of %d bytes, at most %d are allowed with the headers", len(msg.Data), protocol.MaxCommandBytes),
	}}
}

// reply waits for the outcome. A reply can be lost; then the log is asked.
func (c *Client) reply(ctx context.Context, chat, id string, replies <-chan *nats.Msg) (protocol.Reply, error) {
	ask := time.NewTicker(replyTry)
	defer ask.Stop()
	closed := c.nc.StatusChanged(nats.CLOSED)
	defer c.nc.RemoveStatusListener(closed)
	for {
		select {
		case msg := <-replies:
			var r protocol.Reply
			if err := json.Unmarshal(msg.Data, &r); err != nil {
				return r, fmt.Errorf("reply: %w", err)
			}
			return outcome(r)
		case <-ctx.Done():
			return protocol.Reply{}, &UndecidedError{ID: id, Err: ctx.Err()}
		case <-closed:
		case <-ask.C:
		}
		if c.nc.IsClosed() { // for good: neither a reply nor an answer will come
			return protocol.Reply{}, &UndecidedError{ID: id, Err: nats.ErrConnectionClosed}
		}
		if r, err := c.Outcome(ctx, chat, id); err == nil || errors.As(err, new(*RejectedError)) {
			return r, err
		}
	}
}

func outcome(r protocol.Reply) (protocol.Reply, error) {
	if !r.OK {
		return r, &RejectedError{Reply: r}
	}
	return r, nil
}

// Outcome asks the log what was decided about a command, at any later time.
func (c *Client) Outcome(ctx context.Context, chat, id string) (protocol.Reply, error) {
	var r protocol.Reply
	if err := c.Query(ctx, transcript.QueryCommand, transcript.CommandRequest{Chat: chat, ID: id}, &r); err != nil {
		return r, err
	}
	return outcome(r)
}

// QueryError is a query that was answered with a no.
type QueryError struct {
	Code    events.Code
	Status  string // HTTP-like number
	Message string
}

func (e *QueryError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Headers with which a micro service answers an error.
const (
	headerServiceError     = "Nats-Service-Error"
	headerServiceErrorCode = "Nats-Service-Error-Code"
)

// Query asks a projection and decodes its answer into response. A no is a
// [*QueryError].
func (c *Client) Query(ctx context.Context, name string, request, response any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("query %s: %w", name, err)
	}
	try, cancel := context.WithTimeout(ctx, queryTry)
	defer cancel()
	msg, err := c.nc.RequestWithContext(try, protocol.QuerySubject(c.tenant, name), data)
	if errors.Is(err, nats.ErrNoResponders) {
		return ErrNoService
	}
	if err != nil && c.refused(protocol.QuerySubject(c.tenant, name)) {
		return fmt.Errorf("query %s: %w", name, ErrNotAllowed)
	}
	if err != nil {
		return fmt.Errorf("query %s: %w", name, err)
	}
	if status := msg.Header.Get(headerServiceErrorCode); status != "" {
		var r protocol.Reply
		if err := json.Unmarshal(msg.Data, &r); err != nil || r.Code == "" {
			r.Code = events.CodeUnavailable
		}
		if r.Message == "" {
			r.Message = msg.Header.Get(headerServiceError)
		}
		return &QueryError{Code: r.Code, Status: status, Message: r.Message}
	}
	if err := json.Unmarshal(msg.Data, response); err != nil {
		return fmt.Errorf("query %s: %w", name, err)
	}
	return nil
}
