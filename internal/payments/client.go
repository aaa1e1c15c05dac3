package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// inFlightPause is before asking again about a payment that is not through.
const inFlightPause = 50 * time.Millisecond

// Pay sends a payment with a key to the service at url, and again while it is
// in flight, until ctx ends. Anything but a receipt is an error: then it may be
// paid or not, unless the service has refused it.
func Pay(ctx context.Context, client *http.Client, url, key string, p Payment) (Receipt, error) {
	for {
		receipt, err := pay(ctx, client, url, key, p)
		if !errors.Is(err, errInFlight) {
			return receipt, err
		}
		timer := time.NewTimer(inFlightPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Receipt{}, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// errInFlight means that a request with the same key is not through.
var errInFlight = errors.New("the payment is in flight")

// pay sends the payment once.
func pay(ctx context.Context, client *http.Client, url, key string, p Payment) (Receipt, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return Receipt{}, fmt.Errorf("pay: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/payments", bytes.NewReader(body))
	if err != nil {
		return Receipt{}, fmt.Errorf("pay: %w", err)
	}
	r.GetBody = nil // the transport may not send it twice by itself
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(HeaderKey, key)
	answer, err := client.Do(r)
	if err != nil {
		return Receipt{}, fmt.Errorf("pay: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read as far as it matters
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxBodyBytes))
	if err != nil {
		return Receipt{}, fmt.Errorf("pay: %w", err)
	}
	switch answer.StatusCode {
	case http.StatusCreated:
		var receipt Receipt
		if err := json.Unmarshal(content, &receipt); err != nil {
			return Receipt{}, fmt.Errorf("pay: the receipt cannot be read: %w", err)
		}
		return receipt, nil
	case http.StatusConflict:
		return Receipt{}, errInFlight
	}
	return Receipt{}, fmt.Errorf("pay: %s: %s", answer.Status, bytes.TrimSpace(content))
}
