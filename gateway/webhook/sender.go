package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/protocol/cloudevents"
)

// Headers of a request, as Standard Webhooks has them.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	maxAnswerBytes = 64 << 10 // read of an answer, so that the connection can be used again
	idleTime       = 90 * time.Second
	maxRetryAfter  = time.Hour // a receiver that asks for more is asked then
)

// Sender sends events. It is safe for concurrent use.
type Sender struct {
	client  *http.Client
	version string
	clock   func() time.Time
}

// NewSender makes a sender. Version is that of the release.
func NewSender(version string, clock func() time.Time) *Sender {
	return &Sender{version: version, clock: clock, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: idleTime,
		},
		// An answer that leads elsewhere is a failure: what is signed for one receiver
		// is no other's business.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// FailedError is an event that was not taken.
type FailedError struct {
	Status     int           // of the answer; 0 if there was none
	RetryAfter time.Duration // that the receiver asks for; 0 if it does not
	Err        error         // why there was no answer, without the address
}

func (e *FailedError) Error() string {
	if e.Status == 0 {
		return "no answer: " + e.Err.Error()
	}
	return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
}

// Unwrap gives why there was no answer.
func (e *FailedError) Unwrap() error { return e.Err }

// Gone reports whether the receiver wants nothing any more.
func (e *FailedError) Gone() bool { return e.Status == http.StatusGone }

// Refused reports whether the receiver does not want this event, rather than none now.
func (e *FailedError) Refused() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusGone:
		return false
	}
	return e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError
}

// Send sends one event, once. That it was not taken is a [*FailedError].
func (s *Sender) Send(ctx context.Context, h Hook, e cloudevents.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	try, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(try, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return &FailedError{Err: withoutAddress(err)}
	}
	at := strconv.FormatInt(s.clock().Unix(), 10)
	r.Header.Set("Content-Type", cloudevents.ContentType)
	r.Header.Set("User-Agent", "everturn/"+s.version)
	r.Header.Set(HeaderID, e.ID)
	r.Header.Set(HeaderTimestamp, at)
	r.Header.Set(HeaderSignature, h.sign(e.ID, at, body))
	answer, err := s.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &FailedError{Err: withoutAddress(err)}
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswerBytes)) // the status has said all
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &FailedError{Status: answer.StatusCode, RetryAfter: s.retryAfter(answer.Header.Get("Retry-After"))}
}

// withoutAddress is err without the address: that may be as good as a password.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// retryAfter reads what a receiver asks for: seconds, or a time.
func (s *Sender) retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(0, at.Sub(s.clock())), maxRetryAfter)
	}
	return 0
}

// sign is the signatures of a body, one with each secret.
func (h Hook) sign(id, at string, body []byte) string {
	list := make([]string, len(h.secrets))
	for i, secret := range h.secrets {
		sum := hmac.New(sha256.New, secret)
		fmt.Fprintf(sum, "%s.%s.%s", id, at, body)
		list[i] = "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	return strings.Join(list, " ")
}
