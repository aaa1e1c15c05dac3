// Package cloudevents says events of chats as CloudEvents 1.0, for systems that read
// those: in webhooks and in exports. docs/WEBHOOKS.md tells what stands where.
package cloudevents
