package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/internal/connect"
)

// Service is the flags of a process that is one part of an installation. Embed
// it in a kong command.
type Service struct {
	VersionFlag
	LogFlags
	MetricsFlags
	connect.Flags
}

// Running is what a service works with.
type Running struct {
	NATS  *nats.Conn
	Log   *slog.Logger
	Meter metric.Meter

	Tracer trace.Tracer // nil if nothing is to be traced
}

// Serve calls part with what the flags ask for, and takes it away again when
// part has returned. Until then part has settled everything it had in hand.
func (s *Service) Serve(ctx context.Context, name string, stderr io.Writer, part func(Running) error) (err error) {
	r := Running{Log: s.LogFlags.Logger(stderr)}
	s.Flags.Logger = r.Log
	meter, stop, err := s.Meter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r.Meter = meter
	tracer, untrace, err := Tracing(ctx, name, r.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, untrace()) }()
	r.Tracer = tracer
	if r.NATS, err = s.Connect(name); err != nil {
		return err
	}
	defer r.NATS.Close()
	return part(r)
}
