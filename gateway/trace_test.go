package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestARequestBelongsToTheTraceItNames(t *testing.T) {
	t.Parallel()
	var got trace.SpanContext
	g, err := New(Config{Chats: Limit(struct{ Chats }{}, Quotas{}, nil), Ways: []Way{{
		Pattern: "POST /v1/test", Open: true,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = trace.SpanContextFromContext(r.Context()) }),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "0af7651916cd43dd8448eb211c80319c",
		"nonsense": "00000000000000000000000000000000",
		"":         "00000000000000000000000000000000",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/test", http.NoBody)
		r.Header.Set("traceparent", header)
		g.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got.TraceID().String() != want {
			t.Errorf("%q: trace %s, want %s", header, got.TraceID(), want)
		}
	}
}
