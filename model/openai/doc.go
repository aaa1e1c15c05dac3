// Package openai asks models that speak OpenAI's Chat Completions format: those
// of OpenAI, and of the many who offer the same at an address of their own, on
// this machine or elsewhere.
package openai
