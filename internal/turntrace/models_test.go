package turntrace_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
)

func TestWhatModelsTakeIsCountedUnderTheUsualNames(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	m, err := turntrace.NewModels(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	m.Asked(t.Context(), "fast", turntrace.Outcome{
		Provider: events.Provider{Name: "bedrock"}, FirstMS: 250, Usage: events.Usage{Input: 10, CacheRead: 100, CacheWrite: 1_000, Output: 7},
	}, 2*time.Second)
	m.Asked(t.Context(), "fast", turntrace.Outcome{Error: "overloaded"}, time.Second)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		add := func(set attribute.Set, sum float64) { got[m.Name+" "+set.Encoded(attribute.DefaultEncoder())] += sum }
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, p.Sum)
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, float64(p.Sum))
			}
		default:
			t.Errorf("%s is a %T", m.Name, data)
		}
	}
	const chat = "gen_ai.operation.name=chat,gen_ai.provider.name=aws.bedrock,gen_ai.request.model=fast"
	want := map[string]float64{
		"gen_ai.client.operation.duration " + chat: 2,
		"gen_ai.client.operation.duration error.type=overloaded,gen_ai.operation.name=chat,gen_ai.request.model=fast": 1,
		"gen_ai.client.operation.time_to_first_chunk " + chat:                                                         0.25,
		"gen_ai.client.token.usage " + chat + ",gen_ai.token.type=input":                                              1_110,
		"gen_ai.client.token.usage " + chat + ",gen_ai.token.type=output":                                             7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// Where nobody counts, a turn pays nothing for it.
func TestNobodyPaysForCountingThatIsOff(t *testing.T) {
	m, err := turntrace.NewModels(noop.NewMeterProvider().Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	o := turntrace.Outcome{Provider: events.Provider{Name: "openai"}, Usage: events.Usage{Input: 1}}
	if n := testing.AllocsPerRun(100, func() { m.Asked(context.Background(), "fast", o, time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
