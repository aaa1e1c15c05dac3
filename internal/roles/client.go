package roles

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// chatsOf is the filter of all chats of a tenant.
func chatsOf(tenant string) events.Key { return events.Key{Tenant: tenant, Chat: protocol.Any} }

// everyChat is the filter of all chats of all tenants.
var everyChat = chatsOf(protocol.Any)

// clientAccount is where a tenant's programs live. They may send the tenant's
// commands and queries, and hear its outcomes and its feed.
func (cfg Config) clientAccount(tenant string) account {
	imports := cfg.clientImports(tenant)
	return account{
		name:    protocol.ClientAccount(tenant),
		says:    "Programs of the tenant " + tenant + ".",
		imports: imports,
		users: []User{{
			Role: RoleClient, Tenant: tenant, Name: string(RoleClient) + "-" + tenant,
			publish:   subjects(imports, service),
			subscribe: []string{protocol.FeedFilter(tenant), protocol.ReplySubject(tenant, protocol.Any), inboxes},
		}},
	}
}

func (cfg Config) clientImports(tenant string) []imported {
	var list []imported
	for _, verb := range protocol.Verbs() {
		list = append(list, imported{service, protocol.ServiceAccount, protocol.CommandSubject(chatsOf(tenant), string(verb))})
	}
	list = append(list,
		imported{service, protocol.ServiceAccount, protocol.QuerySubject(tenant, protocol.Any)},
		imported{stream, protocol.ServiceAccount, protocol.ReplySubject(tenant, protocol.Any)},
		imported{stream, protocol.ServiceAccount, protocol.FeedFilter(tenant)},
	)
	for _, group := range cfg.Groups {
		list = append(list, imported{stream, protocol.RunnerAccount(group), progressOf(tenant)})
	}
	return list
}

// clientExports is the service's side of [Config.clientImports].
func clientExports(tenant string) []export {
	only := []string{protocol.ClientAccount(tenant)}
	return []export{
		{kind: service, subject: protocol.CommandSubject(chatsOf(tenant), protocol.Any), to: only},
		{kind: service, subject: protocol.QuerySubject(tenant, protocol.Any), to: only},
		{kind: stream, subject: protocol.ReplySubject(tenant, protocol.Any), to: only},
		{kind: stream, subject: protocol.FeedFilter(tenant), to: only},
	}
}

// progressOf is what tools say in the tenant's chats. Tenants hear it from the
// runners themselves: what reached the service by a service import is not
// exported again from there.
func progressOf(tenant string) string { return protocol.FeedProgressSubject(chatsOf(tenant)) }
