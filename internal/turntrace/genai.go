package turntrace

import (
	"math"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/everturn/everturn/events"
)

// The conventions for generative AI are not stable: what attributes are called stands in
// this file alone, and is what version 1.41.0 calls them.

// Operation is what a span is about.
type Operation string

// The operations. The first three are words of the conventions.
const (
	OperationAgent   Operation = "invoke_agent"
	OperationChat    Operation = "chat"
	OperationTool    Operation = "execute_tool"
	OperationCommand Operation = "process"
)

// Facts are what is told of a span. What is empty is not told.
type Facts struct {
	Operation Operation
	Key       events.Key
	Turn      int

	Agent   string
	Model   string
	Step    string
	Attempt int
	Tool    string
	Call    string
	Command string
	Verb    string

	Delivery uint64 // of the call's work

	Provider events.Provider
	Finish   string
	Usage    events.Usage
	FirstMS  int64
	Error    string
}

// commandTemplate is the subject of a command as the conventions for messaging write it.
const commandTemplate = "everturn.cmd.{tenant}.{chat}."

// name is that of the span.
func (f Facts) name() string {
	of := f.Model
	switch f.Operation {
	case OperationAgent:
		of = f.Agent
	case OperationTool:
		of = f.Tool
	case OperationCommand:
		of = commandTemplate + f.Verb
	case OperationChat:
	}
	return strings.TrimSpace(string(f.Operation) + " " + of)
}

// attributes are those of a span.
func attributes(f Facts) []attribute.KeyValue {
	list := []attribute.KeyValue{
		semconv.GenAIConversationID(f.Key.Chat),
		attribute.String("everturn.tenant", f.Key.Tenant),
	}
	if f.Operation == OperationCommand {
		list = append(list,
			semconv.MessagingSystemKey.String("nats"), semconv.MessagingOperationName(string(f.Operation)),
			semconv.MessagingOperationTypeProcess, semconv.MessagingDestinationTemplate(commandTemplate+f.Verb),
			semconv.MessagingMessageID(f.Command))
	} else {
		list = append(list, semconv.GenAIOperationNameKey.String(string(f.Operation)))
	}
	text := func(key attribute.Key, value string) {
		if value != "" {
			list = append(list, key.String(value))
		}
	}
	number := func(key attribute.Key, n int64) {
		if n != 0 {
			list = append(list, key.Int64(n))
		}
	}
	number("everturn.turn", int64(f.Turn))
	text("everturn.step", f.Step)
	number("everturn.attempt", int64(f.Attempt))
	number("everturn.delivery", int64(min(f.Delivery, math.MaxInt64)))
	text(semconv.GenAIAgentNameKey, f.Agent)
	text(semconv.GenAIRequestModelKey, f.Model)
	if f.Tool != "" {
		list = append(list, semconv.GenAIToolName(f.Tool), semconv.GenAIToolCallID(f.Call), semconv.GenAIToolType("function"))
	}
	text(semconv.GenAIProviderNameKey, provider(f.Provider.Name))
	text(semconv.GenAIResponseIDKey, f.Provider.ResponseID)
	text(semconv.GenAIResponseModelKey, f.Provider.Model)
	if f.Finish != "" {
		list = append(list, semconv.GenAIResponseFinishReasons(f.Finish))
	}
	if f.FirstMS > 0 {
		const perSecond = 1_000
		list = append(list, semconv.GenAIResponseTimeToFirstChunk(float64(f.FirstMS)/perSecond))
	}
	number(semconv.GenAIUsageInputTokensKey, inputTokens(f.Usage))
	number(semconv.GenAIUsageOutputTokensKey, f.Usage.Output)
	number(semconv.GenAIUsageCacheReadInputTokensKey, f.Usage.CacheRead)
	number(semconv.GenAIUsageCacheCreationInputTokensKey, f.Usage.CacheWrite)
	number(semconv.GenAIUsageReasoningOutputTokensKey, f.Usage.Reasoning)
	text(semconv.ErrorTypeKey, f.Error)
	return list
}

// inputTokens are those that the conventions call input: the cached ones are among them.
func inputTokens(u events.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }

// provider is what the conventions call a provider; of another one, its own name.
func provider(name string) string {
	switch name {
	case "google", "gemini":
		return "gcp.gemini"
	case "vertex", "vertexai":
		return "gcp.vertex_ai"
	case "bedrock":
		return "aws.bedrock"
	case "azure":
		return "azure.ai.openai"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	}
	return name
}

// linkAttributes say what a link is for.
func linkAttributes(what string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("everturn.link", what)}
}
