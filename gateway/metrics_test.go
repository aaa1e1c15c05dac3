package gateway

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestRequestsAreCountedByRouteAndNeverByChat(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	asked := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	g, err := New(Config{
		Chats: Limit(struct{ Chats }{}, Quotas{}, nil), Tokens: known{"evt_acme": {Tenant: "acme"}},
		Meter: sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"),
		Ways: []Way{
			{Pattern: "GET /v1/test/{chat}", Handler: asked},
			{Pattern: "GET /v1/panic", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("test") })},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"evt_acme", "evt_other"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/test/oslo", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		g.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	panics := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/panic", http.NoBody)
	panics.Header.Set("Authorization", "Bearer evt_acme")
	g.Handler().ServeHTTP(httptest.NewRecorder(), panics)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if !ok {
			continue
		}
		for _, p := range sum.DataPoints {
			got[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] += p.Value
		}
	}
	want := map[string]int64{
		"everturn.gateway.requests route=GET /v1/test/{chat},status=418": 1,
		"everturn.gateway.requests route=GET /v1/test/{chat},status=401": 1,
		"everturn.gateway.requests route=GET /v1/panic,status=500":       1,
		"everturn.gateway.panics ":                                       1,
		"everturn.gateway.refused reason=unauthorized":                   1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
