package cloudevents

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
)

// ContentType is what an event is as JSON.
const ContentType = "application/cloudevents+json; charset=utf-8"

const (
	specVersion = "1.0"
	dataType    = "application/json"
)

// Event is an event in the structured form of CloudEvents 1.0.
type Event struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`     // tenant, chat, rev and index: the same whenever it is sent
	Source      string          `json:"source"` // the tenant
	Type        string          `json:"type"`   // as in docs/EVENTS.md
	Subject     string          `json:"subject"`
	Time        events.Time     `json:"time"`
	DataType    string          `json:"datacontenttype"`
	Tenant      string          `json:"tenant"`
	Rev         uint64          `json:"rev"`
	Data        json.RawMessage `json:"data"`
}

// Of is the events of a commit, by its stored bytes. Types that this release does not
// know are said as well: whoever gets them may.
func Of(commit []byte) ([]Event, error) {
	var c struct {
		Tenant string      `json:"tenant"`
		Chat   string      `json:"chat"`
		Rev    uint64      `json:"rev"`
		At     events.Time `json:"at"`
		Events []struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"events"`
	}
	if err := json.Unmarshal(commit, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	k := events.Key{Tenant: c.Tenant, Chat: c.Chat}
	if err := k.Validate(); err != nil || c.Rev == 0 || len(c.Events) == 0 {
		return nil, fmt.Errorf("%w: it is of no chat, or has no events", events.ErrMalformed)
	}
	list := make([]Event, len(c.Events))
	for i, e := range c.Events {
		list[i] = New(k, c.Rev, i, e.Type, c.At, e.Data)
	}
	return list, nil
}

// New is one event.
func New(k events.Key, rev uint64, index int, kind string, at events.Time, data json.RawMessage) Event {
	return Event{
		SpecVersion: specVersion, ID: fmt.Sprintf("%s.%d.%d", k, rev, index), Source: Source(k.Tenant), Type: kind, Subject: k.Chat,
		Time: at, DataType: dataType, Tenant: k.Tenant, Rev: rev, Data: data,
	}
}

// Source is where the events of a tenant come from.
func Source(tenant string) string { return "/everturn/" + tenant }
