package payments

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Headers of a payment and of its answer.
const (
	HeaderKey      = "Idempotency-Key"
	HeaderReplayed = "Idempotency-Replayed" // "true" where nothing was paid because that was done before
)

// Limits of a service.
const (
	maxKeyBytes  = 255
	maxBodyBytes = 64 << 10
	maxEffects   = 100_000
)

// Payment is what somebody wants to be paid.
type Payment struct {
	Reference string `json:"reference"` // what for; not empty
	Amount    int64  `json:"amount"`    // more than zero
}

// Receipt is the answer to a payment.
type Receipt struct {
	ID string `json:"id"` // of the one time that it was paid
	Payment
}

// Effect is one time that something was paid.
type Effect struct {
	ID  string
	Key string // empty where the request had none
	Payment
}

// Options of a service.
type Options struct {
	// IgnoreKeys makes a service that knows no keys: each request is paid, also
	// one that came before. Keys are still noted in the effects.
	IgnoreKeys bool
}

// Service takes payments. It is an [http.Handler], and safe for concurrent use.
// What was paid is in memory: it outlives whoever pays, and not the service.
type Service struct {
	options Options
	mux     *http.ServeMux
	closed  chan struct{}
	close   func()

	mu       sync.Mutex
	effects  []Effect
	outcomes map[string]*outcome // by key
	holds    []*Hold             // that nobody has come to yet
}

// outcome is what became of the first request with a key.
type outcome struct {
	digest  [sha256.Size]byte // of its body
	receipt *Receipt          // nil while it is not through
}

// New is a service that was never paid.
func New(o Options) *Service {
	s := &Service{options: o, mux: http.NewServeMux(), closed: make(chan struct{}), outcomes: map[string]*outcome{}}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	s.mux.HandleFunc("POST /payments", s.pay)
	return s
}

// ServeHTTP answers a request. It blocks while the request is held.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close lets go whoever is held, now and from now on.
func (s *Service) Close() { s.close() }

// Effects is all that was paid, in order.
func (s *Service) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// pay answers one payment, and goes on when whoever sent it has gone.
func (s *Service) pay(w http.ResponseWriter, r *http.Request) {
	request, no := s.read(w, r)
	if no != nil {
		no.write(w)
		return
	}
	first, before, no := s.begin(request)
	switch {
	case no != nil:
		no.write(w)
		return
	case before != nil:
		w.Header().Set(HeaderReplayed, "true")
		write(w, http.StatusCreated, *before)
		return
	}
	s.hold(request.Reference, BeforeEffect)
	receipt, no := s.effect(request)
	if no != nil {
		no.write(w)
		return
	}
	s.hold(request.Reference, DuringEffect)
	s.settle(first, receipt)
	s.hold(request.Reference, AfterEffect)
	write(w, http.StatusCreated, receipt)
}

// request is a payment as it came.
type request struct {
	Payment
	key    string
	digest [sha256.Size]byte // of its body
}

// read is the payment in a request, or why there is none.
func (s *Service) read(w http.ResponseWriter, r *http.Request) (request, *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return request{}, refuse(http.StatusRequestEntityTooLarge, "a payment has at most %d bytes", maxBodyBytes)
	}
	if err != nil {
		return request{}, refuse(http.StatusBadRequest, "the payment did not come whole")
	}
	asked := request{key: r.Header.Get(HeaderKey), digest: sha256.Sum256(body)}
	if err := json.Unmarshal(body, &asked.Payment); err != nil {
		return request{}, refuse(http.StatusBadRequest, "the payment cannot be read: %v", err)
	}
	switch {
	case asked.Reference == "":
		return request{}, refuse(http.StatusBadRequest, "reference: say what the payment is for")
	case asked.Amount <= 0:
		return request{}, refuse(http.StatusBadRequest, "amount: %d, want more than 0", asked.Amount)
	case asked.key == "" && !s.options.IgnoreKeys:
		return request{}, refuse(http.StatusBadRequest, "the header %s is missing: without it nobody can ask twice", HeaderKey)
	case len(asked.key) > maxKeyBytes:
		return request{}, refuse(http.StatusBadRequest, "the header %s has more than %d bytes", HeaderKey, maxKeyBytes)
	}
	return asked, nil
}

// begin takes the key for the request, or says what came of the first with it.
func (s *Service) begin(r request) (first *outcome, before *Receipt, no *refusal) {
	if s.options.IgnoreKeys {
		return &outcome{}, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.outcomes[r.key]
	switch {
	case !ok:
		first = &outcome{digest: r.digest}
		s.outcomes[r.key] = first
		return first, nil, nil
	case known.digest != r.digest:
		return nil, nil, refuse(http.StatusUnprocessableEntity, "the key was used for another payment")
	case known.receipt == nil:
		return nil, nil, refuse(http.StatusConflict, "the first request with this key is not through: try again")
	}
	return nil, known.receipt, nil
}

// effect pays.
func (s *Service) effect(r request) (Receipt, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.effects) == maxEffects {
		delete(s.outcomes, r.key)
		return Receipt{}, refuse(http.StatusServiceUnavailable, "%d payments were taken: no more are", maxEffects)
	}
	e := Effect{ID: fmt.Sprintf("payment-%d", len(s.effects)+1), Key: r.key, Payment: r.Payment}
	s.effects = append(s.effects, e)
	return Receipt{ID: e.ID, Payment: e.Payment}, nil
}

// settle keeps the outcome for those who ask again.
func (s *Service) settle(o *outcome, r Receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.receipt = &r
}
