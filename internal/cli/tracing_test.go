package cli

import (
	"log/slog"
	"testing"
)

func TestWhichTracesAreSent(t *testing.T) {
	t.Parallel()

	const endpoint = "http://collector.example:4318"
	for _, tt := range []struct {
		name    string
		env     map[string]string
		want    bool
		refused bool
	}{
		{"nothing is set", nil, false, false},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, false},
		{"an endpoint of traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, true, false},
		{"an endpoint of metrics only", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint}, false, false},
		{"the exporter by name", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, false},
		{"no traces", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, false, false},
		{"nothing at all", map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, false, false},
		{"another exporter", map[string]string{"OTEL_TRACES_EXPORTER": "console"}, false, true},
		{"the protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, false},
		{"another protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, true},
		{"another protocol of all but traces", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tracesWanted(func(name string) string { return tt.env[name] })
			if got != tt.want || (err != nil) != tt.refused {
				t.Errorf("%t, error %v; want %t, refused %t", got, err, tt.want, tt.refused)
			}
		})
	}
}

func TestWithoutAnEndpointThereIsNoTracer(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(name, "")
	}
	tracer, stop, err := Tracing(t.Context(), "test", slog.New(slog.DiscardHandler))
	if err != nil || tracer != nil {
		t.Errorf("tracer %v, error %v", tracer, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
