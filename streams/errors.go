package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// More codes of the server that the client library does not name.
const (
	codeAccountFull  jetstream.ErrorCode = 10002 // the account's limit
	codeServerFull   jetstream.ErrorCode = 10023 // the server's limit
	codeNoSequence   jetstream.ErrorCode = 10043
	codeDeleteFailed jetstream.ErrorCode = 10057
	codeNoReplicas   jetstream.ErrorCode = 10074 // the server stands alone
	codeStoreFailed  jetstream.ErrorCode = 10077 // the stream's limit
)

// Statuses that the server sends instead of a message.
const (
	statusHeader    = "Status" // as the client library hands a status line over
	statusHeartbeat = "100"
	statusTimeout   = "408"
	statusNone      = "404"
	statusConflict  = "409"
	statusNobody    = "503"
)

var (
	// errNoAnswer is the cause of a request that took longer than one try.
	errNoAnswer = errors.New("no answer in time; it may have been done or not")

	// errReconnected means that the connection was lost and has come back since a
	// question was sent: there is no use in waiting for the answer.
	errReconnected = errors.New("the connection was lost in between; it may have been done or not")

	// errNobody means that no server feels responsible.
	errNobody = errors.New("nobody answers: a leader is being elected, or `everturn streams apply` was not run")

	// errMissed means that a follower may have missed a message and must begin anew.
	errMissed = errors.New("messages may have been missed; follow again from the start")
)

// conflict reports whether a publish failed because of its fence. Which of the
// two codes arrives depends on the replicas: the first is certain that another
// message is stored, the second says that another write is under way.
func conflict(err error) bool {
	code := codeOf(err)
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// underway is the second of the codes of [conflict].
func underway(err error) bool {
	return codeOf(err) == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// codeOf is the server's code, 0 if it did not answer with an error.
func codeOf(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	return 0
}

// translate names what failed and says in our words what the server answered.
// It is the one place that knows the server's codes; their texts are never read.
func translate(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch codeOf(err) {
	case codeStoreFailed, codeServerFull, codeAccountFull, codeMemoryExceeded, codeStoreExceeded:
		return fmt.Errorf("%s: %w: make room, or raise max_bytes in streams.yaml and run `everturn streams apply`: %w",
			what, protocol.ErrStorageFull, err)
	case jetstream.JSErrCodeMessageNotFound, codeNoSequence:
		return fmt.Errorf("%s: %w", what, protocol.ErrNotFound)
	case jetstream.JSErrCodeStreamNotFound, jetstream.JSErrCodeConsumerNotFound:
		return fmt.Errorf("%s: run `everturn streams apply`: %w", what, err)
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return fmt.Errorf("%s: the server must run with JetStream, also for this account: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// appendError is translate for a commit: a conflict means that the chat grew.
func appendError(err error, k events.Key) error {
	if conflict(err) {
		return fmt.Errorf("append to %s: %w: %w", k, events.ErrConflict, err)
	}
	return translate(err, "append to %s", k)
}
