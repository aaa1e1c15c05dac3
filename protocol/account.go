package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Accounts of the server configuration that Everturn ships. Where accounts are
// in use the server says, in [HeaderRequestInfo], which of them a request came
// from, so who asks is not a matter of trust.
const (
	ServiceAccount = "EVERTURN"
	SystemAccount  = "SYSTEM"

	clientAccount = "CLIENT-"
	runnerAccount = "RUNNER-"
)

// HeaderRequestInfo is what the server adds to a request that crosses from one
// account to another.
const HeaderRequestInfo = "Nats-Request-Info"

// HeaderGroup is how the bus hands over whose runner account a request came
// from, see [RequestGroup]. It is empty where there are no accounts, and nothing
// that a sender writes counts.
const HeaderGroup = "Everturn-Group"

// ClientAccount is the account of a tenant's clients.
func ClientAccount(tenant string) string { return clientAccount + tenant }

// RunnerAccount is the account of a group's tool runners.
func RunnerAccount(group string) string { return runnerAccount + group }

// RequestGroup is the group whose runner account a request came from, given all
// values of its header [HeaderRequestInfo]. ok is false if it did not come from
// such an account: then accounts are not in use, or somebody else asks.
//
// The server appends its value after whatever the sender wrote, so the last one
// counts.
func RequestGroup(values []string) (group string, ok bool) {
	if len(values) == 0 {
		return "", false
	}
	var info struct {
		Account string `json:"acc"`
	}
	if err := json.Unmarshal([]byte(values[len(values)-1]), &info); err != nil {
		return "", false
	}
	return strings.CutPrefix(info.Account, runnerAccount)
}

// RunnerFilter is where the processes of a group are asked what they run: their
// names begin with the group, so that no other group hears the question or
// answers it.
func RunnerFilter(group string) string { return RunnerSubject(group + "." + Any) }

// WorkFilters is all work of a tenant, of every kind.
func WorkFilters(tenant string) []string {
	return []string{
		subject(familyWork, "model", Any, tenant, Any, Any),
		subject(familyWork, "tool", Any, tenant, Any, Any),
		subject(familyWork, "chat", tenant, Any, Any),
	}
}

// FeedFilter is everything there is to watch of a tenant.
func FeedFilter(tenant string) string { return subject(familyFeed, tenant, ">") }

// ValidateGroup says what is wrong with the name of a group, or nil.
func ValidateGroup(group string) error {
	if !groupName.MatchString(group) {
		return fmt.Errorf("group %.40q: want 1 to 32 of a-z, 0-9, _ and -", group)
	}
	return nil
}

// Verbs lists the verbs of this release, in the order of the documentation.
func Verbs() []Verb {
	return []Verb{
		VerbCreate, VerbSend, VerbInterrupt, VerbConfigure, VerbRename,
		VerbArchive, VerbUnarchive, VerbWithdraw, VerbPromote, VerbEditInput, VerbRetry, VerbContinue,
		VerbEdit, VerbRegenerate, VerbSelectBranch,
		VerbCompact, VerbClear, VerbRestore,
		VerbFork, VerbImport, VerbApprove, VerbSetMode, VerbExtend, VerbAnswer, VerbErase, VerbClientResult,
	}
}
