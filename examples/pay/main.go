// Command pay is a program that tools.yaml beside it declares as a tool: it pays, at a
// service that knows idempotency keys. docs/IDEMPOTENCY.md explains it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	patience = 20 * time.Second       // for an answer; the tool's timeout in tools.yaml is longer
	pause    = 200 * time.Millisecond // before asking again

	exitRefused = 1
	exitUnknown = 75 // says that it may be paid or not, and that nobody should take it for failed
)

// errRefused means that the service has said no: nothing is paid.
var errRefused = errors.New("refused")

func main() {
	payment, err := io.ReadAll(os.Stdin) // the arguments are what the service wants to have
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitRefused) // nothing was sent
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	receipt, err := pay(ctx, os.Getenv("PAYMENTS_URL"), os.Getenv("EVERTURN_IDEMPOTENCY_KEY"), payment)
	switch {
	case errors.Is(err, errRefused):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitRefused) //nolint:gocritic // there is nothing left to cancel
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnknown)
	}
	fmt.Printf("%s\n", bytes.TrimSpace(receipt))
}

// pay sends the payment again and again, under one key, until there is an answer that
// settles it. That is safe, as the service pays once for a key.
func pay(ctx context.Context, url, key string, payment []byte) (receipt []byte, err error) {
	for {
		receipt, err = payOnce(ctx, url, key, payment)
		if err == nil || errors.Is(err, errRefused) {
			return receipt, err
		}
		fmt.Fprintln(os.Stderr, "not settled yet:", err) // whoever watches the chat sees it
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("no answer in %v: %w", patience, err)
		}
	}
}

func payOnce(ctx context.Context, url, key string, payment []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/payments", bytes.NewReader(payment))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusCreated:
		return body, nil
	case answer.StatusCode == http.StatusConflict, answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode >= 500:
		return nil, fmt.Errorf("%s", answer.Status) // another request with this key is not through, or the service is ill
	}
	return nil, fmt.Errorf("%w: %s: %s", errRefused, answer.Status, bytes.TrimSpace(body))
}
