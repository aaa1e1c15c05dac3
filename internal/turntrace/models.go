package turntrace

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// Models counts what asking models takes, under the names that other tools know.
type Models struct {
	took   genaiconv.ClientOperationDuration
	first  genaiconv.ClientOperationTimeToFirstChunk
	tokens genaiconv.ClientTokenUsage
}

// The buckets that the conventions ask for.
var (
	secondsBuckets = metric.WithExplicitBucketBoundaries(
		.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	tokenBuckets = metric.WithExplicitBucketBoundaries(
		1, 4, 16, 64, 256, 1<<10, 1<<12, 1<<14, 1<<16, 1<<18, 1<<20, 1<<22, 1<<24, 1<<26)
)

// NewModels makes the instruments.
func NewModels(m metric.Meter) (Models, error) {
	took, err := genaiconv.NewClientOperationDuration(m, secondsBuckets)
	first, errFirst := genaiconv.NewClientOperationTimeToFirstChunk(m, secondsBuckets)
	tokens, errTokens := genaiconv.NewClientTokenUsage(m, tokenBuckets)
	return Models{took: took, first: first, tokens: tokens}, errors.Join(err, errFirst, errTokens)
}

// Asked counts one attempt: how long the model was asked, and what came of it. The
// model is the one that was asked for, by the name that its operator gave it.
func (m Models) Asked(ctx context.Context, model string, o Outcome, took time.Duration) {
	if !m.took.Enabled(ctx) {
		return
	}
	about := []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIRequestModel(model)}
	if o.Provider.Name != "" { // else nobody answered
		about = append(about, semconv.GenAIProviderNameKey.String(provider(o.Provider.Name)))
	}
	of := attribute.NewSet(about...)
	if o.FirstMS > 0 {
		m.first.RecordSet(ctx, (time.Duration(o.FirstMS) * time.Millisecond).Seconds(), of)
	}
	for kind, n := range map[genaiconv.TokenTypeAttr]int64{
		genaiconv.TokenTypeInput: inputTokens(o.Usage), genaiconv.TokenTypeOutput: o.Usage.Output,
	} {
		if n > 0 {
			m.tokens.RecordSet(ctx, n, attribute.NewSet(append(slices.Clip(about), semconv.GenAITokenTypeKey.String(string(kind)))...))
		}
	}
	if o.Error != "" {
		of = attribute.NewSet(append(about, semconv.ErrorTypeKey.String(o.Error))...)
	}
	m.took.RecordSet(ctx, took.Seconds(), of)
}
