package streams

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// streamDiff compares the settings that the topology has a word in, and builds
// the configuration to update to. Others stay as they are on the server.
type streamDiff struct {
	want, have jetstream.StreamConfig
	next       *jetstream.StreamConfig // of have, with what may be changed
	shrink     bool

	changed []Field // may be updated
	smaller []Field // would lower a limit, and nobody asked for it
	fixed   []Field // cannot be updated
}

func (d *streamDiff) run() {
	d.limits()
	d.subjects()
	d.kind()
	d.permissions()
	d.change("discard", discardText(d.have.Discard), discardText(d.want.Discard), func() { d.next.Discard = d.want.Discard })
	d.change("duplicates", d.have.Duplicates.String(), d.want.Duplicates.String(), func() { d.next.Duplicates = d.want.Duplicates })
	d.change("republish", republishText(d.have.RePublish), republishText(d.want.RePublish), func() { d.next.RePublish = d.want.RePublish })
	d.next.Metadata = maps.Clone(d.have.Metadata)
	d.changed = append(d.changed, mergeMetadata(&d.next.Metadata, d.want.Metadata)...)
}

func (d *streamDiff) limits() {
	d.limit("max_bytes", d.have.MaxBytes, d.want.MaxBytes, byteText, func() { d.next.MaxBytes = d.want.MaxBytes })
	d.limit("max_msg_size", int64(d.have.MaxMsgSize), int64(d.want.MaxMsgSize), byteText, func() { d.next.MaxMsgSize = d.want.MaxMsgSize })
	d.limit("max_age", int64(d.have.MaxAge), int64(d.want.MaxAge), ageText, func() { d.next.MaxAge = d.want.MaxAge })
	d.limit("max_msgs", d.have.MaxMsgs, d.want.MaxMsgs, countText, func() { d.next.MaxMsgs = d.want.MaxMsgs })
	d.limit("max_msgs_per_subject", d.have.MaxMsgsPerSubject, d.want.MaxMsgsPerSubject, countText, func() {
		d.next.MaxMsgsPerSubject = d.want.MaxMsgsPerSubject
	})
	d.limit("replicas", int64(d.have.Replicas), int64(d.want.Replicas), countText, func() { d.next.Replicas = d.want.Replicas })
}

func (d *streamDiff) subjects() {
	if sameSet(d.have.Subjects, d.want.Subjects) {
		return
	}
	f := Field{Name: "subjects", From: strings.Join(d.have.Subjects, " "), To: strings.Join(d.want.Subjects, " ")}
	for _, s := range d.have.Subjects {
		if !slices.Contains(d.want.Subjects, s) && !d.shrink {
			d.fixed = append(d.fixed, f) // what lies under it would belong to nobody
			return
		}
	}
	d.changed = append(d.changed, f)
	d.next.Subjects = d.want.Subjects
}

// kind is what makes a stream what it is: none of it can be changed.
func (d *streamDiff) kind() {
	fixed := func(name, from, to string) {
		if from != to {
			d.fixed = append(d.fixed, Field{Name: name, From: from, To: to})
		}
	}
	fixed("retention", d.have.Retention.String(), d.want.Retention.String())
	fixed("storage", d.have.Storage.String(), d.want.Storage.String())
	fixed("persist_mode", d.have.PersistMode.String(), d.want.PersistMode.String())
	fixed("counter", strconv.FormatBool(d.have.AllowMsgCounter), strconv.FormatBool(d.want.AllowMsgCounter))
	fixed("sealed", strconv.FormatBool(d.have.Sealed), strconv.FormatBool(d.want.Sealed))
}

// permissions say what publishers may do to what is stored. Some can only be
// given, others only taken.
func (d *streamDiff) permissions() {
	flag := func(name string, have, want bool, next *bool, never bool) {
		if have == want {
			return
		}
		f := Field{Name: name, From: strconv.FormatBool(have), To: strconv.FormatBool(want)}
		if want == never {
			d.fixed = append(d.fixed, f)
			return
		}
		d.changed = append(d.changed, f)
		*next = want
	}
	h, w, n := d.have, d.want, d.next
	flag("deny_purge", h.DenyPurge, w.DenyPurge, &n.DenyPurge, false)
	flag("deny_delete", h.DenyDelete, w.DenyDelete, &n.DenyDelete, false)
	flag("ttl", h.AllowMsgTTL, w.AllowMsgTTL, &n.AllowMsgTTL, false)
	flag("schedules", h.AllowMsgSchedules, w.AllowMsgSchedules, &n.AllowMsgSchedules, false)
	for _, free := range []struct {
		name       string
		have, want bool
		next       *bool
	}{
		{"rollup", h.AllowRollup, w.AllowRollup, &n.AllowRollup},
		{"atomic", h.AllowAtomicPublish, w.AllowAtomicPublish, &n.AllowAtomicPublish},
		{"batched", h.AllowBatchPublish, w.AllowBatchPublish, &n.AllowBatchPublish},
		{"direct", h.AllowDirect, w.AllowDirect, &n.AllowDirect},
		{"discard_new_per_subject", h.DiscardNewPerSubject, w.DiscardNewPerSubject, &n.DiscardNewPerSubject},
		{"no_ack", h.NoAck, w.NoAck, &n.NoAck},
	} {
		flag(free.name, free.have, free.want, free.next, !free.want)
	}
}

func (d *streamDiff) change(name, from, to string, apply func()) {
	if from == to {
		return
	}
	d.changed = append(d.changed, Field{Name: name, From: from, To: to})
	apply()
}

// limit compares a number of which 0 and less mean without end.
func (d *streamDiff) limit(name string, have, want int64, text func(int64) string, apply func()) {
	have, want = max(have, 0), max(want, 0)
	if have == want {
		return
	}
	f := Field{Name: name, From: text(have), To: text(want)}
	if lower := want != 0 && (have == 0 || want < have); lower && !d.shrink {
		d.smaller = append(d.smaller, f)
		return
	}
	d.changed = append(d.changed, f)
	apply()
}

// mergeMetadata puts our keys among those that others wrote.
func mergeMetadata(into *map[string]string, want map[string]string) []Field {
	var fields []Field
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if (*into)[k] == want[k] {
			continue
		}
		fields = append(fields, Field{Name: "metadata." + k, From: (*into)[k], To: want[k]})
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[k] = want[k]
	}
	return fields
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func discardText(p jetstream.DiscardPolicy) string {
	switch p {
	case jetstream.DiscardNew:
		return discardNew
	case jetstream.DiscardOld:
		return discardOld
	}
	return p.String()
}

func republishText(r *jetstream.RePublish) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s to %s", r.Source, r.Destination)
}

const unlimited = "unlimited"

func byteText(n int64) string {
	if n == 0 {
		return unlimited
	}
	return sizeText(n)
}

func countText(n int64) string {
	if n == 0 {
		return unlimited
	}
	return strconv.FormatInt(n, 10)
}

func ageText(n int64) string {
	if n == 0 {
		return unlimited
	}
	return time.Duration(n).String()
}
