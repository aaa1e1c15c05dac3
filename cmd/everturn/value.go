package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
)

// A value of a flag that has a form judges itself, so that whoever gets it wrong
// hears of it as of any other mistake in usage.

// chatName is a chat.
type chatName string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *chatName) UnmarshalText(text []byte) error {
	*c = chatName(text)
	return events.Key{Tenant: defaultTenant, Chat: string(text)}.Validate()
}

const defaultTenant = "default"

// tenantName is whose chats.
type tenantName string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *tenantName) UnmarshalText(text []byte) error {
	*t = tenantName(text)
	return events.Key{Tenant: string(text)}.ValidateTenant()
}

// patience is how long to wait: there is no use in waiting for no time.
type patience time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *patience) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no time to wait: want one such as 30s or 5m", text)
	}
	*p = patience(d)
	return nil
}

// String is the value as it can be given again.
func (p patience) String() string { return time.Duration(p).String() }

// portNumber is a port to listen on; 0 is a free one.
type portNumber uint16

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *portNumber) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return fmt.Errorf("%q is no port: want 0 to 65535", text)
	}
	*p = portNumber(n)
	return nil
}

// count is how often something is done, at least once.
type count int

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *count) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number from 1 on", text)
	}
	*c = count(n)
	return nil
}
