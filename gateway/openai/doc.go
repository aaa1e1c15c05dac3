// Package openai lets clients of the chat completions API of OpenAI use chats:
// they see agents as models, and turns as completions. docs/OPENAI.md tells their
// authors what to expect.
//
// It keeps nothing. Which chat a request belongs to follows from the request alone,
// and so do the ids of the commands it becomes: any gateway may answer it, and one
// that comes again is the same.
package openai
