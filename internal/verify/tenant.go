package verify

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/events"
)

// tenant judges I18: subject, commit and every reference name one tenant, and
// content has the digest it is named by.
func (h *history) tenant(c events.Commit) {
	if owner := h.owner(); c.Key != owner {
		h.breaks(RuleTenants, Place{}, "a commit of chat %s lies under the subject of %s", c.Key, owner)
	}
	for _, e := range c.Events {
		for _, d := range events.ContentOf(e) {
			h.content(d)
		}
		for _, d := range digestsOf(e) {
			if d != "" && !d.Valid() {
				h.breaks(RuleTenants, Place{}, "%s refers to %q, which is no digest", e.EventType(), string(d))
			}
		}
	}
}

// content judges what a reference leads to.
func (h *history) content(d events.Digest) {
	if !d.Valid() {
		h.breaks(RuleTenants, Place{}, "a part refers to %q, which is no digest", string(d))
		return
	}
	if h.options.Blob == nil {
		return
	}
	b, err := h.options.Blob(h.key, d)
	switch {
	case errors.Is(err, ErrNotSeen):
	case err != nil:
		h.breaks(RuleTenants, Place{}, "content %s: %v", d, err)
	case events.DigestOf(b) != d:
		h.breaks(RuleTenants, Place{}, "content stored as %s has the digest %s", d, events.DigestOf(b))
	}
}

// recorded judges that settings are those of the digest under which later turns
// refer to them.
func (h *history) recorded(r events.RecordedSettings) {
	b, err := json.Marshal(r.Body)
	if err != nil {
		panic(fmt.Sprintf("verify: settings without JSON: %v", err)) // plain structs only
	}
	if d := events.DigestOf(b); d != r.Digest {
		h.breaks(RuleTenants, Place{}, "settings recorded as %s have the digest %s", r.Digest, d)
	}
}

// digestsOf lists the other digests of an event, of things not stored as a
// chat's content.
func digestsOf(e events.Event) []events.Digest {
	switch e := e.(type) {
	case events.ChatInherited:
		return []events.Digest{e.History}
	case events.TurnStarted:
		return []events.Digest{e.Settings.Digest}
	case events.StepRequested:
		return []events.Digest{e.Prompt}
	case events.ToolRequested:
		return []events.Digest{e.Manifest, e.Arguments}
	}
	return nil
}
