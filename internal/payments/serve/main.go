// Command serve takes payments of nobody, for people who try out docs/IDEMPOTENCY.md.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/everturn/everturn/internal/payments"
)

// address is where it listens: nobody else's business.
const address = "127.0.0.1:8099"

// maxHeaderWait bounds how long a request may take to begin.
const maxHeaderWait = 10 * time.Second

func main() {
	service := payments.New(payments.Options{})
	fmt.Println("paying nobody at http://" + address)
	server := &http.Server{Addr: address, Handler: service, ReadHeaderTimeout: maxHeaderWait}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
