package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

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

// age is for how long something has been as it is; days are 24 hours.
type age time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *age) UnmarshalText(text []byte) error {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err == nil && n > 0 {
			*a = age(time.Duration(n) * day)
			return nil
		}
	}
	if isNegative(string(text)) {
		return fmt.Errorf("%q is negative, and an age says how long ago: want one such as 90d or 12h", text)
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no age: want one such as 90d or 12h", text)
	}
	*a = age(d)
	return nil
}

// Decode implements [kong.MapperValue]. What begins with a hyphen is taken for a flag
// otherwise, and whoever gives a negative age would be told to give it in another way.
func (a *age) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Peek()
	if !isNegative(token.String()) {
		var err error
		if token, err = ctx.Scan.PopValue("age"); err != nil {
			return err
		}
	}
	return a.UnmarshalText([]byte(token.String()))
}

func isNegative(text string) bool {
	const digits = "0123456789"
	return len(text) > 1 && text[0] == '-' && strings.ContainsRune(digits, rune(text[1]))
}

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
