// Package mcp offers chats as tools to whoever speaks the Model Context Protocol:
// an editor, an agent, another assistant. docs/MCP_SERVER.md tells their users what
// to expect.
//
// It keeps nothing, also no session: each call of a tool stands for itself, so any
// gateway may answer it. A call of send waits until its turn has ended or waits for
// a person, and never for longer than it was told; the turn goes on without it.
package mcp
