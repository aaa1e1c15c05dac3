// Package anthropic asks models that speak Anthropic's Messages format: those
// of Anthropic, and of others who offer it at an address of their own.
package anthropic
