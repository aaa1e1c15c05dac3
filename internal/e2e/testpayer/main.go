// Command testpayer is a program that pays, for tests to declare as a tool: with the
// arguments of a call on its standard input, and the key of the call in its
// environment. It belongs to no release.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/everturn/everturn/internal/payments"
)

// Variables of its environment.
const (
	variableService = "PAYMENTS_URL"             // the file that declares the tool says it
	variableKey     = "EVERTURN_IDEMPOTENCY_KEY" // the runner says it
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout, os.Getenv(variableService), os.Getenv(variableKey)); err != nil {
		fmt.Fprintln(os.Stderr, "testpayer:", err)
		os.Exit(1)
	}
}

// run is the program but for the end of the process.
func run(ctx context.Context, in io.Reader, out io.Writer, service, key string) error {
	var p payments.Payment
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	receipt, err := payments.Pay(ctx, http.DefaultClient, service, key, p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "Paid:", receipt.ID)
	return err
}
