package events

// ErrorClass sorts what can go wrong with a step by what helps.
type ErrorClass string

// The classes of step.failed and turn.failed.
const (
	ClassCancelled       ErrorClass = "cancelled"
	ClassIncomplete      ErrorClass = "incomplete" // the stream ended before the answer did
	ClassOverloaded      ErrorClass = "overloaded"
	ClassQuota           ErrorClass = "quota"
	ClassAuth            ErrorClass = "auth"
	ClassRateLimit       ErrorClass = "rate_limit"
	ClassContextTooLarge ErrorClass = "context_too_large"
	ClassContentFilter   ErrorClass = "content_filter"
	ClassTimeout         ErrorClass = "timeout"
	ClassStreamSilence   ErrorClass = "stream_silence"
	ClassTransport       ErrorClass = "transport"
	ClassInvalidRequest  ErrorClass = "invalid_request"
	ClassInternal        ErrorClass = "internal"
	ClassCrashed         ErrorClass = "crashed" // the worker went away
	ClassTooManyCalls    ErrorClass = "too_many_calls"
	ClassUnknown         ErrorClass = "unknown"
)

// Retryable reports whether asking again may help.
func (c ErrorClass) Retryable() bool {
	switch c {
	case ClassIncomplete, ClassOverloaded, ClassRateLimit, ClassTimeout,
		ClassStreamSilence, ClassTransport, ClassInternal, ClassCrashed:
		return true
	case ClassCancelled, ClassQuota, ClassAuth, ClassContextTooLarge, ClassContentFilter,
		ClassInvalidRequest, ClassTooManyCalls, ClassUnknown:
		return false
	}
	return false // a class from a newer release: not known to help
}

// Interrupted reports whether the class is a stream that broke off, for which
// the first retries come quickly.
func (c ErrorClass) Interrupted() bool {
	return c == ClassIncomplete || c == ClassStreamSilence || c == ClassTransport
}
