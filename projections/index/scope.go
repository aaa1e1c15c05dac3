package index

import (
	"encoding/hex"

	"github.com/everturn/everturn/events"
)

// scope is the word that stands for a tenant beside what was said in its chats. Names
// have characters that part words; their digits have none.
func scope(tenant string) string { return "t" + hex.EncodeToString([]byte(tenant)) }

// scopeOf is the word for a chat, which is no other tenant's.
func scopeOf(k events.Key) string {
	return "c" + hex.EncodeToString([]byte(k.Tenant)) + "x" + hex.EncodeToString([]byte(k.Chat))
}
