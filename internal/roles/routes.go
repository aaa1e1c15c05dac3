package roles

import (
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// unroutable is what no message from another server of the cluster may be made
// to name as the place for its trace.
//
// The server lets a publisher ask, by a header, where the way of a message shall
// be reported. It checks that for connections of programs. A header block that no
// client library writes gets past the check, is stored with a command, and is
// found when that command is delivered across a route: then the report is
// published in the account of the stream, on any subject at all. What a route
// may not import is refused there too.
//
// It stops nothing else. Interest travels between servers under the names that
// streams and services subscribe to, and those have wildcards where these name a
// tenant or a group.
func (cfg Config) unroutable() []string {
	var list []string
	for _, tenant := range cfg.Tenants {
		k := chatsOf(tenant)
		for shard := range cfg.Shards {
			list = append(list, protocol.LogSubject(shard, k))
		}
		list = append(list, protocol.WorkFilters(tenant)...)
		list = append(list,
			protocol.CommandSubject(k, protocol.Any),
			protocol.TimerSetSubject(k, protocol.Any),
			protocol.TimerDueSubject(k, protocol.Any),
			protocol.DeadSubject(k),
			"$KV."+streams.SnapshotsBucket+".*."+tenant+".*",
		)
	}
	for _, group := range cfg.Groups {
		list = append(list, "$KV."+streams.ToolsBucket+"."+group+".*")
	}
	return list
}

const routesPreamble = `# What servers of an Everturn cluster do not take from each other. To be included
# inside of the cluster block of every server:
#
#   cluster { name: everturn, …, include routes.conf }
#
# It closes a gap of nats-server 2.15; see docs/ROLES.md.

`

// renderRoutes writes the part of a cluster block.
func renderRoutes(deny []string) string {
	w := &writer{}
	w.raw(routesPreamble)
	w.line("permissions: {")
	w.line("import: {")
	w.line("deny: [")
	for _, subject := range deny {
		w.line("%s", quote(subject))
	}
	w.line("]")
	w.line("}")
	w.line("}")
	return w.String()
}
