package fault_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/internal/fault"
)

// Rule: S2.3.
func TestClass(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   events.ErrorClass
	}{
		// Shapes that providers send. Those marked synthetic follow what a provider
		// documents; nobody has recorded them.
		{"synthetic: overloaded, as a status", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, events.ClassOverloaded},
		{"synthetic: overloaded, as a page", 529, "<html><body>529</body></html>", events.ClassOverloaded},
		{"synthetic: overloaded, inside of a stream", 200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, events.ClassOverloaded},
		{"synthetic: overloaded, in the message of a 503", 503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error"}}`, events.ClassOverloaded},
		{"synthetic: a rate limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your per-minute rate limit"}}`, events.ClassRateLimit},
		{"synthetic: a rate limit inside of a stream", 200, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, events.ClassRateLimit},
		{"synthetic: 429 for want of money is no rate limit", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, events.ClassQuota},
		{"synthetic: a quota of a minute is a rate limit", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: requests, limit: 10\nPlease retry in 28.3s.","status":"RESOURCE_EXHAUSTED"}}]`, events.ClassRateLimit},
		{"synthetic: a request too large for the rate is a rate limit", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, events.ClassRateLimit},
		{"synthetic: no credit is a 400 at some", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`, events.ClassQuota},
		{"synthetic: forbidden", 403, `{"type":"error","error":{"type":"permission_error","message":"not yours"}}`, events.ClassAuth},
		{"synthetic: the prompt is too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, events.ClassContextTooLarge},
		{"synthetic: the context is too long, by code", 400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, events.ClassContextTooLarge},
		{"synthetic: the context is too long, as a 500", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, events.ClassContextTooLarge},
		{"synthetic: the context is too long, by type", 400, `{"error":{"code":400,"message":"the request exceeds it","type":"exceed_context_size_error","n_ctx":4096}}`, events.ClassContextTooLarge},
		{"synthetic: too many bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, events.ClassContextTooLarge},
		{"synthetic: filtered", 400, `{"error":{"message":"The response was filtered due to the prompt triggering our content management policy.","code":"content_filter"}}`, events.ClassContentFilter},
		{"synthetic: not available", 503, "upstream connect error", events.ClassTimeout},
		{"synthetic: a gateway's timeout", 504, "", events.ClassTimeout},
		{"synthetic: a content network's timeout", 524, "<html>", events.ClassTimeout},
		{"synthetic: asked too slowly", 408, "", events.ClassTimeout},
		{"synthetic: timeout inside of a stream", 200, `{"error":{"code":504,"message":"Provider returned error"}}`, events.ClassTimeout},
		{"synthetic: an internal error inside of a stream", 200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, events.ClassInternal},
		{"synthetic: an invalid request inside of a stream", 200, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, events.ClassInvalidRequest},
		{"synthetic: a status nobody knows", 599, "", events.ClassInternal},
		{"synthetic: a refusal nobody knows", 451, "", events.ClassInvalidRequest},
		{"synthetic: a failure that says nothing", 200, `{}`, events.ClassUnknown},

		// The recorded ones all have a status that says enough; a few of each shape.
		{"an error that is a text", 402, `{"error":"You have depleted your monthly included credits."}`, events.ClassQuota},
		{"an error that is a detail", 401, `{"detail":"Unauthorized"}`, events.ClassAuth},
		{"an error that is a list of details", 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]}`, events.ClassInvalidRequest},
		{"an error without a wrapper", 500, `{"object":"error","message":"Service unavailable.","type":"internal_server_error","code":"1000"}`, events.ClassInternal},
		{"an error of somebody behind the provider", 429, `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"temporarily rate-limited upstream"}}}`, events.ClassRateLimit},
		{"a download that timed out is not the model's timeout", 400, `{"error":{"message":"Download multimodal file timed out","type":"invalid_request_error","code":"invalid_parameter_error"}}`, events.ClassInvalidRequest},
		{"a page", 502, "<!DOCTYPE html><html>", events.ClassTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.Class(fault.Evidence{Status: tt.status, Body: []byte(tt.body)}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Rule: S1.6.
func TestMessagesTellWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"no such\n  model","type":"x"}}`: "the provider answered 404: no such model",
		`{"error":"no such model"}`:                           "the provider answered 404: no such model",
		`<html>404</html>`:                                    "the provider answered 404: Not Found",
		`gone`:                                                "the provider answered 404: gone",
		``:                                                    "the provider answered 404: Not Found",
		`{"error":{"message":{"message":"inner","code":1}}}`: "the provider answered 404: inner",
		`{"error":{"message":"{\"message\":\"quoted\"}"}}`:   "the provider answered 404: quoted",
	} {
		if got := fault.Message(fault.Evidence{Status: http.StatusNotFound, Body: []byte(body)}, ""); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
	long := fault.Message(fault.Evidence{Status: http.StatusBadRequest, Body: []byte(strings.Repeat("ä", 5000))}, "")
	if n := len([]rune(long)); n > events.MaxErrorChars {
		t.Errorf("a message of %d characters", n)
	}
}

func TestSecretsAreScrubbed(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	for said, want := range map[string]string{
		"Incorrect API key provided: " + secret + ".":             "Incorrect API key provided: [key].",
		"Incorrect API key provided: sk-abcd1234********wxyz.":    "Incorrect API key provided: [key].",
		"your api key: ****iKey is invalid":                       "your api key: [key] is invalid",
		"the header was Authorization: Bearer abcdef":             "the header was Authorization: [key]",
		"the task-force asked about key-value stores and monkeys": "the task-force asked about key-value stores and monkeys",
	} {
		if got := fault.Scrub(said, secret); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
