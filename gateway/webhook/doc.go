// Package webhook tells other systems by HTTP what happens in chats: each event as a
// CloudEvent, signed, at least once, and in the order of its chat. docs/WEBHOOKS.md
// tells those who receive them what to expect.
package webhook
