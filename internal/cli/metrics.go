package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// MetricsFlags say where metrics can be read.
type MetricsFlags struct {
	MetricsAddress string `name:"metrics" env:"EVERTURN_METRICS" placeholder:"HOST:PORT" help:"Serve Prometheus metrics at /metrics on this address."`
}

const metricsHeaderTime = 5 * time.Second

// Meter serves the metrics of the meter it gives until stop is called. Without
// an address it gives a meter that forgets.
func (f MetricsFlags) Meter(ctx context.Context) (meter metric.Meter, stop func() error, err error) {
	if f.MetricsAddress == "" {
		return noop.NewMeterProvider().Meter(""), func() error { return nil }, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.MetricsAddress)
	if err != nil {
		return nil, nil, Exit(ExitUsage, fmt.Errorf("--metrics: %w", err)) // another address will do
	}
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", errors.Join(err, listener.Close()))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: metricsHeaderTime}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	stop = func() error {
		if err := server.Close(); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("metrics: %w", err)
		}
		return nil
	}
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	return provider.Meter("github.com/everturn/everturn"), stop, nil
}
