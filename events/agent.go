package events

import "fmt"

// maxAgentBytes bounds the name of an agent.
const maxAgentBytes = 64

// AgentNamed says that settings in this commit name an agent.
//
// It changes nothing by itself: the name stands in the settings, too. It is there
// for releases that know no agents. They would start the next turn without its
// instructions; what they cannot read, they leave to others.
type AgentNamed struct {
	Agent string `json:"agent"` // its name
}

// EventType implements [Event].
func (AgentNamed) EventType() Type { return "agent.named.v1" }
func (AgentNamed) sealed()         {}

// ValidateAgent says what is wrong with the name of an agent.
func ValidateAgent(name string) error {
	if name == "" || len(name) > maxAgentBytes {
		return fmt.Errorf("want 1 to %d of a-z, 0-9, _ and -", maxAgentBytes)
	}
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return fmt.Errorf("want 1 to %d of a-z, 0-9, _ and -", maxAgentBytes)
		}
	}
	return nil
}
