// Package identity says on whose behalf a request is handled, to all the ways in
// of the gateway.
package identity

import "context"

// Identity is who a request comes from, as the door has found out.
type Identity struct {
	Tenant string // whose chats may be seen and changed: these and no others
	By     string // who is said to have sent a command, such as "user:ann"; may be empty
	Token  string // the name of the token that was shown; empty where none is asked for
}

type contextKey struct{}

// With is ctx on behalf of i.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// Of is on whose behalf ctx is. False means that nobody has asked at the door: a
// handler that gets it must refuse.
func Of(ctx context.Context) (Identity, bool) {
	i, ok := ctx.Value(contextKey{}).(Identity)
	return i, ok && i.Tenant != ""
}
