package roles

import (
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// runnerAccount is where the tool runners of a group live. They may pull and
// settle the group's calls, ask orchestrators, and say how a call goes; they hear
// what is not wanted any more and whether a process still runs.
func (cfg Config) runnerAccount(group string) account {
	imports := runnerImports(group)
	exports := []export{{kind: service, subject: protocol.RunnerFilter(group), to: []string{protocol.ServiceAccount}}}
	for _, tenant := range cfg.Tenants {
		exports = append(exports, export{kind: stream, subject: progressOf(tenant), to: []string{protocol.ClientAccount(tenant)}})
	}
	return account{
		name:    protocol.RunnerAccount(group),
		says:    "Tool runners of the group " + group + ".",
		imports: imports,
		exports: exports,
		users: []User{{
			Role: RoleRunner, Group: group, Name: string(RoleRunner) + "-" + group,
			publish:   subjects(imports, service),
			subscribe: append(subjects(imports, stream), protocol.RunnerFilter(group), inboxes),
			respond:   true,
		}},
	}
}

func runnerImports(group string) []imported {
	list := []imported{
		{service, protocol.ServiceAccount, pullSubject(group)},
		{service, protocol.ServiceAccount, ackFilter(group)},
		{service, protocol.ServiceAccount, protocol.OfferSubject(group)},
	}
	for _, subject := range runnerRequests() {
		list = append(list, imported{service, protocol.ServiceAccount, subject})
	}
	return append(list, imported{stream, protocol.ServiceAccount, protocol.StopSubject(everyChat)})
}

// runnerRequests is what runners of every group may publish: a call of any chat
// may be theirs. Whether it is, only the chat's state knows.
func runnerRequests() []string {
	return []string{
		protocol.ClaimSubject(everyChat),
		protocol.ResultSubject(everyChat),
		protocol.AskSubject(everyChat),
		protocol.UploadSubject(everyChat),
		protocol.DownloadSubject(everyChat),
		protocol.FeedProgressSubject(everyChat),
	}
}

// runnerExports is the service's side of [runnerImports].
func runnerExports(groups []string) []export {
	var list []export
	for _, group := range groups {
		only := []string{protocol.RunnerAccount(group)}
		list = append(list,
			export{kind: service, subject: pullSubject(group), to: only, many: true},
			export{kind: service, subject: ackFilter(group), to: only},
			export{kind: service, subject: protocol.OfferSubject(group), to: only},
		)
	}
	var all []string
	for _, group := range groups {
		all = append(all, protocol.RunnerAccount(group))
	}
	for _, subject := range runnerRequests() {
		list = append(list, export{kind: service, subject: subject, to: all})
	}
	return append(list, export{kind: stream, subject: protocol.StopSubject(everyChat), to: all})
}

// pullSubject is where calls of the group are asked for.
func pullSubject(group string) string {
	return "$JS.API.CONSUMER.MSG.NEXT." + streams.WorkStream + "." + streams.ToolConsumer(group)
}

// ackFilter is where its calls are settled. A delivered message names its own
// such subject as reply, which the server carries between accounts unchanged.
func ackFilter(group string) string {
	return "$JS.ACK." + streams.WorkStream + "." + streams.ToolConsumer(group) + ".>"
}
