// Package mcpservers tries a runner with MCP servers that nobody here wrote: the npm
// packages server-everything, server-filesystem and server-memory, at the versions in
// package-lock.json. Run it with make mcpservers.
package mcpservers
