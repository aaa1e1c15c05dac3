package wiretap

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
)

// RetryAfter is how long a provider asks us to wait, 0 if it does not, or says
// nonsense: nothing readable, the past, or more than [events.MaxRetryFor].
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if wait, ok := amount(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	after := h.Get("Retry-After")
	if wait, ok := amount(after, time.Second); ok {
		return wait
	}
	if at, err := http.ParseTime(strings.TrimSpace(after)); err == nil {
		if wait := at.Sub(now); wait > 0 && wait <= events.MaxRetryFor {
			return wait
		}
	}
	return 0
}

// amount reads a number of units; it may have a fraction.
func amount(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n > float64(events.MaxRetryFor/unit) {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}

// requestIDHeaders is where providers put the id of a request.
var requestIDHeaders = [...]string{
	"Request-Id", "X-Request-Id", "Openai-Request-Id", "X-Amzn-Requestid", "Apim-Request-Id", "X-Generation-Id", "Cf-Ray",
}

// RequestID is what the provider calls the request, for asking its support.
func (x *Exchange) RequestID() string {
	for _, name := range requestIDHeaders {
		if id := x.Header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// RateLimits are the headers that say what is left of an allowance, with names
// in lower case.
func (x *Exchange) RateLimits() map[string]string {
	limits := make(map[string]string)
	for name, values := range x.Header {
		name = strings.ToLower(name)
		if len(values) > 0 && (strings.Contains(name, "ratelimit") || strings.HasPrefix(name, "retry-after")) {
			limits[name] = values[len(values)-1]
		}
	}
	return limits
}
