package wiretap_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/everturn/everturn/model/internal/wiretap"
)

// Rule: S2.2.
func TestRetryAfter(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"nothing is said", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{"seconds with a fraction", http.Header{"Retry-After": {"1.5"}}, 1500 * time.Millisecond},
		{"a date", http.Header{"Retry-After": {"Sun, 29 Nov 2026 12:00:30 GMT"}}, 30 * time.Second},
		{"a date of the old kind", http.Header{"Retry-After": {"Sunday, 29-Nov-26 12:01:00 GMT"}}, time.Minute},
		{"milliseconds", http.Header{"Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{"milliseconds go before seconds", http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"7"}}, 250 * time.Millisecond},
		{"nonsense in milliseconds leaves the seconds", http.Header{"Retry-After-Ms": {"soon"}, "Retry-After": {"7"}}, 7 * time.Second},
		{"negative", http.Header{"Retry-After": {"-3"}}, 0},
		{"zero", http.Header{"Retry-After": {"0"}}, 0},
		{"an hour", http.Header{"Retry-After": {"3600"}}, time.Hour},
		{"more than an hour", http.Header{"Retry-After": {"3601"}}, 0},
		{"absurd", http.Header{"Retry-After": {"1e300"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"a date in the past", http.Header{"Retry-After": {"Sun, 29 Nov 2026 11:59:59 GMT"}}, 0},
		{"a date of next year", http.Header{"Retry-After": {"Mon, 29 Nov 2027 12:00:00 GMT"}}, 0},
		{"words", http.Header{"Retry-After": {"in a while"}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := wiretap.RetryAfter(tt.header, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
