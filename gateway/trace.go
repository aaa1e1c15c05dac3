package gateway

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
)

// traced has what a request causes belong to the trace that its headers name, if they
// name one: a command carries it on.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" {
			r = r.WithContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
		}
		next.ServeHTTP(w, r)
	})
}
