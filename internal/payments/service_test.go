package payments_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/internal/payments"
)

// rig is a service that listens.
type rig struct {
	*payments.Service
	t   *testing.T
	url string
}

func start(t *testing.T, o payments.Options) rig {
	t.Helper()
	service := payments.New(o)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Cleanup(service.Close)
	return rig{Service: service, t: t, url: server.URL}
}

// answer is what came of a request.
type answer struct {
	status   int
	replayed bool
	body     string
}

// post sends a body as it is.
func (r rig) post(key, body string) answer {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/payments", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set(payments.HeaderKey, key)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }() // it is read
	content, err := io.ReadAll(got.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header.Get(payments.HeaderReplayed) == "true", string(bytes.TrimSpace(content))}
}

func (r rig) paid(times int) {
	r.t.Helper()
	if got := r.Effects(); len(got) != times {
		r.t.Errorf("it was paid %d times, want %d: %+v", len(got), times, got)
	}
}

const (
	invoice = `{"reference": "invoice 7", "amount": 1200}`
	other   = `{"reference": "invoice 7", "amount": 1201}`
)

func TestTheSameKeyIsPaidOnceAndAnsweredTheSame(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	first := r.post("key-1", invoice)
	var receipt payments.Receipt
	if err := json.Unmarshal([]byte(first.body), &receipt); err != nil || first.status != http.StatusCreated || first.replayed {
		t.Fatalf("first: %+v, %v", first, err)
	}
	if receipt.ID == "" || receipt.Payment != (payments.Payment{Reference: "invoice 7", Amount: 1200}) {
		t.Errorf("receipt %+v", receipt)
	}
	if again := r.post("key-1", invoice); again != (answer{http.StatusCreated, true, first.body}) {
		t.Errorf("again: %+v, want %s", again, first.body)
	}
	r.paid(1)
	if another := r.post("key-2", invoice); another.status != http.StatusCreated || another.replayed {
		t.Errorf("another key: %+v", another)
	}
	r.paid(2)
	if got := r.Effects()[1]; got.Key != "key-2" || got.Reference != "invoice 7" {
		t.Errorf("effect %+v", got)
	}
}

func TestTheSameKeyWithAnotherBodyIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	r.post("key", invoice)
	if got := r.post("key", other); got.status != http.StatusUnprocessableEntity {
		t.Errorf("%+v", got)
	}
	r.paid(1)
}

func TestWhatCannotBeReadTakesNoKeyAndPaysNothing(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	for _, tt := range []struct {
		name, key, body string
		status          int
	}{
		{"no key", "", invoice, http.StatusBadRequest},
		{"a long key", strings.Repeat("k", 256), invoice, http.StatusBadRequest},
		{"no body", "key", "", http.StatusBadRequest},
		{"no reference", "key", `{"amount": 1}`, http.StatusBadRequest},
		{"nothing to pay", "key", `{"reference": "x"}`, http.StatusBadRequest},
		{"less than nothing", "key", `{"reference": "x", "amount": -1}`, http.StatusBadRequest},
		{"too much", "key", `{"reference": "` + strings.Repeat("x", 64<<10) + `", "amount": 1}`, http.StatusRequestEntityTooLarge},
	} {
		if got := r.post(tt.key, tt.body); got.status != tt.status || !strings.Contains(got.body, `"error"`) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	r.paid(0)
	if got := r.post("key", invoice); got.status != http.StatusCreated {
		t.Errorf("the key is taken: %+v", got)
	}
}

// Where a payment is held decides what others with its key are told.
func TestAHeldPaymentIsInFlightUntilItsOutcomeIsKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at     payments.Moment
		paid   int
		status int // of another request with the key
	}{
		{payments.BeforeEffect, 0, http.StatusConflict},
		{payments.DuringEffect, 1, http.StatusConflict},
		{payments.AfterEffect, 1, http.StatusCreated},
	} {
		t.Run(string(tt.at), func(t *testing.T) {
			t.Parallel()
			r := start(t, payments.Options{})
			held := r.Hold("invoice 7", tt.at)
			var first answer
			var waits sync.WaitGroup
			waits.Go(func() { first = r.post("key", invoice) })
			<-held.Reached()
			r.paid(tt.paid)
			if got := r.post("key", invoice); got.status != tt.status {
				t.Errorf("another request: %+v", got)
			}
			if got := r.post("elsewhere", `{"reference": "invoice 8", "amount": 1}`); got.status != http.StatusCreated {
				t.Errorf("another payment: %+v", got)
			}
			held.Release()
			waits.Wait()
			if first.status != http.StatusCreated || first.replayed {
				t.Errorf("the held one: %+v", first)
			}
			r.paid(2)
		})
	}
}

// Whoever hangs up does not take the payment back.
func TestAPaymentOfSomebodyWhoHasGoneIsPaid(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	held, done := r.Hold("invoice 7", payments.BeforeEffect), r.Hold("invoice 7", payments.AfterEffect)
	ctx, hangUp := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	waits.Go(func() {
		if _, err := payments.Pay(ctx, http.DefaultClient, r.url, "key", payments.Payment{Reference: "invoice 7", Amount: 1}); err == nil {
			t.Error("there is a receipt")
		}
	})
	<-held.Reached()
	hangUp()
	waits.Wait()
	r.paid(0)
	held.Release()
	<-done.Reached()
	r.paid(1)
}

func TestAServiceThatKnowsNoKeysPaysEachTime(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{IgnoreKeys: true})
	for range 2 {
		if got := r.post("key", invoice); got.status != http.StatusCreated || got.replayed {
			t.Errorf("%+v", got)
		}
	}
	if got := r.post("", invoice); got.status != http.StatusCreated {
		t.Errorf("without a key: %+v", got)
	}
	r.paid(3)
}

// Many at once with one key are one payment, and each of them gets its receipt.
func TestPayWaitsForWhoWasFirst(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	held := r.Hold("invoice 7", payments.DuringEffect)
	var all sync.WaitGroup
	receipts := make([]payments.Receipt, 8)
	for i := range receipts {
		all.Go(func() {
			var err error
			receipts[i], err = payments.Pay(t.Context(), http.DefaultClient, r.url, "key", payments.Payment{Reference: "invoice 7", Amount: 5})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-held.Reached()
	held.Release()
	all.Wait()
	for _, got := range receipts {
		if got != receipts[0] || got.ID == "" {
			t.Errorf("receipt %+v, another has %+v", got, receipts[0])
		}
	}
	r.paid(1)
}

// A refusal is told in the words of the service.
func TestPayTellsWhyItWasRefused(t *testing.T) {
	t.Parallel()
	r := start(t, payments.Options{})
	_, err := payments.Pay(t.Context(), http.DefaultClient, r.url, "key", payments.Payment{Reference: "invoice 7"})
	if err == nil || !strings.Contains(err.Error(), "want more than 0") {
		t.Errorf("%v", err)
	}
}
