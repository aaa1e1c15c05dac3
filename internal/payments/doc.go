// Package payments is a service that takes payments of nobody, as such services
// are: over HTTP, with idempotency keys. Tests let tools pay with it, kill
// processes, and then count how often it was paid.
//
//	service := payments.New(payments.Options{})
//	server := httptest.NewServer(service)
//	t.Cleanup(server.Close)
//	t.Cleanup(service.Close) // before the server, which waits for who is held
//
// A payment is
//
//	POST /payments
//	Idempotency-Key: 5f0c…
//	{"reference": "invoice 7", "amount": 1200}
//
// and is answered with
//
//   - 201 and a [Receipt]. The same key with the same body gets the same answer
//     again, with the header [HeaderReplayed], and nothing is paid.
//   - 400 where it cannot be read or has no key,
//   - 409 while the first request with the key is not through; try again,
//   - 413 where it is too large,
//   - 422 where the key was used with another body,
//   - 503 where no more payments are taken.
//
// As with others, who has sent a payment and hangs up has paid all the same.
package payments
