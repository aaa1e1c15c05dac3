package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/payments"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("internal/payments")...)
}

// A program that is run again with its key has paid once.
func TestTheKeyOfTheCallIsHandedOn(t *testing.T) {
	t.Parallel()
	service := payments.New(payments.Options{})
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	for range 2 {
		var out bytes.Buffer
		err := run(t.Context(), strings.NewReader(`{"reference": "invoice", "amount": 3}`), &out, server.URL, "key-1")
		if err != nil || out.String() != "Paid: payment-1\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
	if got := service.Effects(); len(got) != 1 || got[0].Key != "key-1" {
		t.Errorf("effects %+v", got)
	}
}
