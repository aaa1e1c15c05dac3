// Package fault says what a provider's failure means: one of the few classes
// that tell a caller what to do, from the status and from what the body, or an
// error inside of a stream, says. What the payload says goes before the status:
// a stream that fails began with a good one.
package fault

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
)

// Evidence is what a provider said.
type Evidence struct {
	Status int    // of HTTP
	Body   []byte // of the response, or the data of the event that failed
}

// Class is the class of a failure. The rules are tried in order, and the first
// that holds is it.
func Class(e Evidence) events.ErrorClass {
	said := parse(e.Body)
	status := e.Status
	if status < http.StatusBadRequest && said.status != 0 {
		status = said.status // the stream had begun; the provider still says what it would have been
	}
	for _, r := range rules {
		if said.mentions(r.unless) {
			continue
		}
		if slices.Contains(r.statuses, status) || said.names(r.names) || said.mentions(r.phrases) {
			return r.class
		}
	}
	switch {
	case status >= http.StatusInternalServerError:
		return events.ClassInternal
	case status >= http.StatusBadRequest:
		return events.ClassInvalidRequest
	}
	return events.ClassUnknown
}

// rule holds if any of its marks is there, and none that speaks against it.
type rule struct {
	class    events.ErrorClass
	statuses []int
	names    []string // types and codes, lower case
	phrases  []string // parts of messages, lower case
	unless   []string // likewise
}

const (
	statusOverloaded = 529 // Anthropic's
	statusCanceled   = 499 // a proxy's word for: somebody hung up
	statusFirstEdge  = 520 // to 524: what a content network says when it cannot reach the provider
)

var rules = [...]rule{
	{
		class:    events.ClassOverloaded,
		statuses: []int{statusOverloaded},
		names:    []string{"overloaded_error", "overloaded", "engine_overloaded", "engine_overloaded_error", "server_overloaded", "model_overloaded"},
		phrases:  []string{"currently overloaded", "is overloaded", "over capacity", "at capacity"},
	},
	{
		class:    events.ClassQuota,
		statuses: []int{http.StatusPaymentRequired},
		names:    []string{"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "insufficient_credits"},
		phrases:  []string{"credit balance is too low", "insufficient balance", "insufficient credits", "included credits", "check your plan and billing"},
		unless:   []string{"please retry in", "please try again in"}, // money does not come back in seconds
	},
	{
		class:    events.ClassAuth,
		statuses: []int{http.StatusUnauthorized, http.StatusForbidden},
		names:    []string{"authentication_error", "permission_error", "invalid_api_key", "invalid_key", "wrong_api_key", "unauthenticated", "permission_denied", "account_deactivated"},
	},
	{
		class:    events.ClassRateLimit,
		statuses: []int{http.StatusTooManyRequests},
		names:    []string{"rate_limit_error", "rate_limit_exceeded", "rate_limited", "too_many_requests", "tokens", "requests", "resource_exhausted"},
	},
	{
		class:    events.ClassContextTooLarge,
		statuses: []int{http.StatusRequestEntityTooLarge},
		names:    []string{"context_length_exceeded", "exceed_context_size_error", "request_too_large", "context_window_exceeded", "string_above_max_length"},
		phrases: []string{
			"prompt is too long", "input is too long", "maximum context length", "context length exceeded", "context_length",
			"context size has been exceeded", "available context size", "exceed context limit", "exceeds the context window",
			"reduce the length of the messages", "range of input length should be", "input token count exceeds", "maximum prompt length",
		},
	},
	{
		class:   events.ClassContentFilter,
		names:   []string{"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed", "moderation_blocked", "sensitive"},
		phrases: []string{"content management policy", "flagged by moderation", "flagged as potentially violating", "usage policies"},
	},
	{
		class: events.ClassTimeout,
		statuses: []int{
			http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusCanceled,
			statusFirstEdge, statusFirstEdge + 1, statusFirstEdge + 2, statusFirstEdge + 3, statusFirstEdge + 4,
		},
		names: []string{"timeout_error", "timeout", "request_timeout", "service_unavailable", "unavailable", "deadline_exceeded"},
	},
	{
		class: events.ClassInvalidRequest,
		statuses: []int{
			http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		},
		names: []string{"invalid_request_error", "invalid_request", "not_found_error", "invalid_parameter_error", "model_not_found", "invalid_argument", "bad_request"},
	},
	{
		class:    events.ClassInternal,
		statuses: []int{http.StatusInternalServerError},
		names:    []string{"api_error", "server_error", "internal_server_error", "internal_error", "internal"},
	},
}

// maxMessageChars bounds what is quoted of a provider.
const maxMessageChars = 400

// Message is what people get to read of a failure, without the secret, or
// anything that looks like one.
func Message(e Evidence, secret string) string {
	said := parse(e.Body)
	text := strings.Join(strings.Fields(cmp.Or(said.message, http.StatusText(e.Status), "the provider failed and did not say why")), " ")
	text = events.Shorten(text, maxMessageChars)
	if e.Status >= http.StatusBadRequest {
		text = fmt.Sprintf("the provider answered %d: %s", e.Status, text)
	} else {
		text = "the provider broke off: " + text
	}
	return Scrub(text, secret)
}

// keyLike is what the keys of providers look like, also where they quote one
// with stars in it.
var keyLike = regexp.MustCompile(`(?i)\b(sk|gsk|xai|hf|csk|nvapi)[-_][A-Za-z0-9*_-]{6,}|Bearer\s+\S+|\*{3,}[A-Za-z0-9]+`)

// minSecretBytes keeps a placeholder such as "x" from being cut out of words.
const minSecretBytes = 6

// Scrub is s without the secret, and without what looks like one.
func Scrub(s, secret string) string {
	if len(secret) >= minSecretBytes {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	return keyLike.ReplaceAllString(s, "[key]")
}
