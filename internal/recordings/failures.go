package recordings

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// expected is what the failures that were recorded mean. All of them say it by
// their status alone; a collection with others needs more than this table.
var expected = map[int]events.ErrorClass{
	http.StatusBadRequest:          events.ClassInvalidRequest,
	http.StatusUnauthorized:        events.ClassAuth,
	http.StatusPaymentRequired:     events.ClassQuota,
	http.StatusForbidden:           events.ClassAuth,
	http.StatusNotFound:            events.ClassInvalidRequest,
	http.StatusUnprocessableEntity: events.ClassInvalidRequest,
	http.StatusTooManyRequests:     events.ClassRateLimit,
	http.StatusInternalServerError: events.ClassInternal,
	http.StatusBadGateway:          events.ClassTimeout,
}

// Failures plays all failures that were recorded, and says how many there were
// and which of them are taken for something else.
func (r *Runner) Failures(ctx context.Context, list []Recording) (played int, wrong []string) {
	for _, one := range list {
		if one.Status < http.StatusBadRequest || one.Format() != "anthropic" && one.Format() != "chat" {
			continue
		}
		played++
		address := r.Server.Offer(Delivery{Status: one.Status, Headers: one.Headers, Body: one.Body})
		p := Play(ctx, one.Format(), address, r.Transport)
		failed, ok := errors.AsType[*model.Error](p.Err)
		switch want := expected[one.Status]; {
		case p.Panic != nil || !ok:
			wrong = append(wrong, fmt.Sprintf("%s: panic %v, error %v", one.ID, p.Panic, p.Err))
		case failed.Class != want || failed.Status != one.Status:
			wrong = append(wrong, fmt.Sprintf("%s: status %d is %s, want %s: %s", one.ID, one.Status, failed.Class, want, failed.Message))
		}
	}
	return played, wrong
}
