// Package mcp makes the tools of MCP servers tools of a runner.
//
// [Load] reads the file of servers that other programs use, too. [Open] makes
// [Servers] of it, which are a [toolrunner.Source]: each server is started or
// connected to when the runner runs, its tools are offered when it has said which
// they are, and again when it says that they changed. A server that dies is started
// again, with pauses that grow. What it was asked before is never asked twice.
//
// Servers are foreign: what they say of their tools is believed only where the file
// says so, and those that are programs run in a sandbox. docs/MCP.md is for users.
package mcp
