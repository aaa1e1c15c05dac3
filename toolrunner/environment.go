package toolrunner

import "strings"

// Variables by which a program that a call runs is told about it.
const (
	VariableKey    = VariablePrefix + "IDEMPOTENCY_KEY" // the same whenever this call runs again, and no other has it
	VariableTenant = VariablePrefix + "TENANT"
	VariableChat   = VariablePrefix + "CHAT"
	VariableCall   = VariablePrefix + "CALL"
	VariableGrants = VariablePrefix + "GRANTS" // what the call was granted, a line each

	VariablePrefix = "EVERTURN_" // of all of them, and of those to come
)

// Environment is what a program can know of the call that runs it, as NAME=VALUE.
func (c Call) Environment() []string {
	return []string{
		VariableKey + "=" + c.Key, VariableTenant + "=" + c.Chat.Tenant, VariableChat + "=" + c.Chat.Chat,
		VariableCall + "=" + c.ID.String(), VariableGrants + "=" + strings.Join(c.Permissions.Grants, "\n"),
	}
}
