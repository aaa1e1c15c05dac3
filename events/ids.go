package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Key names one chat: the tenant who owns it and the chat's own id.
type Key struct {
	Tenant string
	Chat   string
}

// String is "tenant.chat", the form that subjects, hashes and logs use.
func (k Key) String() string { return k.Tenant + "." + k.Chat }

// Compare orders keys by tenant, and then by chat.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, other.Tenant), cmp.Compare(k.Chat, other.Chat))
}

const (
	maxTenantBytes = 64
	maxChatBytes   = 64
)

// Validate says what is wrong with the key, or nil. A tenant is
// [a-z0-9_-]{1,64}, a chat [A-Za-z0-9_-]{1,64}: both are subject tokens, so
// that neither can name another subject.
func (k Key) Validate() error {
	if err := k.ValidateTenant(); err != nil {
		return err
	}
	if !isToken(k.Chat, maxChatBytes, true) {
		return fmt.Errorf("chat %q: want 1 to %d of A-Z, a-z, 0-9, _ and -", cut(k.Chat, maxChatBytes), maxChatBytes)
	}
	return nil
}

// ValidateTenant is the part of [Key.Validate] that is about the tenant: whom to
// answer is known also when the chat cannot be.
func (k Key) ValidateTenant() error {
	if !isToken(k.Tenant, maxTenantBytes, false) {
		return fmt.Errorf("tenant %q: want 1 to %d of a-z, 0-9, _ and -", cut(k.Tenant, maxTenantBytes), maxTenantBytes)
	}
	return nil
}

func isToken(s string, limit int, upper bool) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		case upper && c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return true
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}

// StepID names a step inside its chat: the second step of turn 3 is "3.2".
// A step outside any turn has turn 0.
type StepID struct {
	Turn int
	Step int
}

// String is the readable form, "3.2".
func (id StepID) String() string { return strconv.Itoa(id.Turn) + "." + strconv.Itoa(id.Step) }

// Token is the form used inside a subject, "3-2".
func (id StepID) Token() string { return strconv.Itoa(id.Turn) + "-" + strconv.Itoa(id.Step) }

// MarshalText implements [encoding.TextMarshaler].
func (id StepID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *StepID) UnmarshalText(text []byte) error {
	var n [2]int
	if err := numbers(string(text), ".", n[:]); err != nil {
		return fmt.Errorf("step %q: %w", cut(string(text), maxIDBytes), err)
	}
	*id = StepID{Turn: n[0], Step: n[1]}
	return nil
}

// CallID names a tool call inside its chat: the first call of step 3.2 is
// "3.2.1". It is derived, never the provider's: providers repeat and omit ids.
type CallID struct {
	Turn    int
	Step    int
	Ordinal int // from 1, in the order the model wrote the calls
}

// Compare orders calls as they were asked for.
func (id CallID) Compare(other CallID) int {
	return cmp.Or(cmp.Compare(id.Turn, other.Turn), cmp.Compare(id.Step, other.Step), cmp.Compare(id.Ordinal, other.Ordinal))
}

// StepID is the step that asked for the call.
func (id CallID) StepID() StepID { return StepID{Turn: id.Turn, Step: id.Step} }

// String is the readable form, "3.2.1".
func (id CallID) String() string { return id.StepID().String() + "." + strconv.Itoa(id.Ordinal) }

// Token is the form used inside a subject, "3-2-1".
func (id CallID) Token() string { return id.StepID().Token() + "-" + strconv.Itoa(id.Ordinal) }

// MarshalText implements [encoding.TextMarshaler].
func (id CallID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *CallID) UnmarshalText(text []byte) error {
	parsed, err := ParseCallID(string(text), ".")
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseCallID reads a call id whose numbers are separated by sep: "." in
// bodies, "-" in subjects.
func ParseCallID(s, sep string) (CallID, error) {
	var n [3]int
	if err := numbers(s, sep, n[:]); err != nil {
		return CallID{}, fmt.Errorf("call %q: %w", cut(s, maxIDBytes), err)
	}
	return CallID{Turn: n[0], Step: n[1], Ordinal: n[2]}, nil
}

// maxIDBytes bounds what an error repeats of a malformed id.
const maxIDBytes = 40

// numbers reads as many numbers as n has room for. Each has one spelling.
func numbers(s, sep string, n []int) error {
	for i := range n {
		field, rest, more := strings.Cut(s, sep)
		if more != (i < len(n)-1) {
			return fmt.Errorf("want %d numbers separated by %q", len(n), sep)
		}
		v, err := strconv.ParseUint(field, 10, strconv.IntSize-1)
		if err != nil || field[0] == '0' && field != "0" {
			return fmt.Errorf("%q is not a number", cut(field, maxIDBytes))
		}
		n[i], s = int(v), rest
	}
	return nil
}

// Digest is the SHA-256 of some bytes, written "sha256:" and 64 hex digits.
// Empty means none.
type Digest string

const digestPrefix = "sha256:"

// DigestOf is the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// Hex is the digest without its prefix, the form used in blob names.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// HexDigest is the inverse of [Digest.Hex].
func HexDigest(hex string) Digest { return Digest(digestPrefix + hex) }

// Valid reports whether d has the form of a digest.
func (d Digest) Valid() bool {
	h, ok := strings.CutPrefix(string(d), digestPrefix)
	if !ok || len(h) != sha256.Size*2 {
		return false
	}
	b, err := hex.DecodeString(h)
	return err == nil && hex.EncodeToString(b) == h
}
