package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// The names on the page are those that the exporter really makes of ours.
func TestNamesOfMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		t.Fatal(err)
	}
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	want := map[string]string{}
	for _, part := range measured {
		all, err := instruments(root, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.Unit == "" || i.Description == "" {
				t.Errorf("%s has no unit or no description", i.Name)
			}
			want[i.prometheus()] = i.Description
			record(t, meter, i)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if want[family.GetName()] != family.GetHelp() {
			t.Errorf("the exporter says %s: %s", family.GetName(), family.GetHelp())
		}
		delete(want, family.GetName())
	}
	if len(want) > 0 {
		t.Errorf("the exporter knows nothing of %v", want)
	}
}

func record(t *testing.T, meter metric.Meter, i instrument) {
	t.Helper()
	unit, description := metric.WithUnit(i.Unit), metric.WithDescription(i.Description)
	var err error
	switch i.Kind {
	case "Int64Counter":
		var c metric.Int64Counter
		if c, err = meter.Int64Counter(i.Name, unit, description); err == nil {
			c.Add(t.Context(), 1)
		}
	case "Int64UpDownCounter":
		var c metric.Int64UpDownCounter
		if c, err = meter.Int64UpDownCounter(i.Name, unit, description); err == nil {
			c.Add(t.Context(), 1)
		}
	case "Int64Gauge":
		var g metric.Int64Gauge
		if g, err = meter.Int64Gauge(i.Name, unit, description); err == nil {
			g.Record(t.Context(), 1)
		}
	case "Float64Histogram":
		var h metric.Float64Histogram
		if h, err = meter.Float64Histogram(i.Name, unit, description); err == nil {
			h.Record(t.Context(), 1)
		}
	default:
		t.Fatalf("%s is a %s: teach this test and the page about it", i.Name, i.Kind)
	}
	if err != nil {
		t.Fatal(err)
	}
}
