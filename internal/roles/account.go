package roles

import "github.com/everturn/everturn/protocol"

// account is one bus of its own inside the server.
type account struct {
	name      string
	says      string // what it is, for who reads the file
	jetStream bool
	users     []User
	exports   []export
	imports   []imported
}

// kind tells the two ways between accounts apart.
type kind string

const (
	// service carries what the importing account publishes to the exporting one,
	// and the answers back. The server puts a reply subject of its own in the
	// place of the sender's.
	service kind = "service"
	// stream carries what the exporting account publishes to the importing one.
	stream kind = "stream"
)

// export opens a subject of the account to the accounts it names, and to no
// other.
type export struct {
	kind    kind
	subject string
	to      []string
	many    bool // of a service: one request may get more than one answer
}

// imported is a subject of another account that this one may use under the same
// name.
type imported struct {
	kind    kind
	from    string
	subject string
}

// accounts is every account of an installation, in the order of the file.
func (cfg Config) accounts() []account {
	accounts := []account{cfg.serviceAccount()}
	for _, tenant := range cfg.Tenants {
		accounts = append(accounts, cfg.clientAccount(tenant))
	}
	for _, group := range cfg.Groups {
		accounts = append(accounts, cfg.runnerAccount(group))
	}
	return append(accounts, systemAccount())
}

// subjects lists what is imported in one of the two ways.
func subjects(imports []imported, k kind) []string {
	var list []string
	for _, i := range imports {
		if i.kind == k {
			list = append(list, i.subject)
		}
	}
	return list
}

// inboxes is where a connection hears the answers to what it asked.
const inboxes = "_INBOX.>"

// mappedReplies is how the server spells a reply subject that crossed from
// another account.
const mappedReplies = "_R_.>"

func systemAccount() account {
	return account{
		name: protocol.SystemAccount,
		says: "The server's own account: health, connections, reload.",
		users: []User{{
			Role: RoleSystem, Name: string(RoleSystem),
			publish:   []string{"$SYS.REQ.>"},
			subscribe: []string{"$SYS.>", inboxes},
		}},
	}
}
