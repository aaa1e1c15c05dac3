package roles

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// picture is what is stored on the whole server at one moment.
type picture map[string]streamPicture

type streamPicture struct {
	config    string
	last      uint64
	subjects  map[uint64]string // of every message stored
	consumers map[string]consumerPicture
}

// consumerPicture leaves out who waits and how much is to come: that changes
// with what is allowed.
type consumerPicture struct {
	config                             string
	delivered, floor, unsettled, again int
}

// picture looks at every stream, knowing what stood in them before.
func (b *bus) picture(before picture) picture {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	p := make(picture)
	list := b.js.ListStreams(ctx)
	for info := range list.Info() {
		p[info.Config.Name] = b.streamPicture(ctx, info.Config.Name, before[info.Config.Name])
	}
	b.must(list.Err())
	return p
}

func (b *bus) streamPicture(ctx context.Context, name string, before streamPicture) streamPicture {
	b.Helper()
	s, err := b.js.Stream(ctx, name)
	b.must(err)
	info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
	b.must(err)
	config, err := json.Marshal(info.Config)
	b.must(err)
	p := streamPicture{config: string(config), last: info.State.LastSeq, subjects: make(map[uint64]string), consumers: make(map[string]consumerPicture)}
	for seq := max(info.State.FirstSeq, 1); seq <= info.State.LastSeq; seq++ {
		switch subject, known := before.subjects[seq]; {
		case slices.Contains(info.State.Deleted, seq):
		case known:
			p.subjects[seq] = subject
		default:
			p.subjects[seq] = b.look(name, seq)
		}
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		p.consumers[c.Name] = consumerPicture{
			config:    fmt.Sprintf("%+v", c.Config),
			delivered: int(c.Delivered.Stream), floor: int(c.AckFloor.Stream), unsettled: c.NumAckPending, again: c.NumRedelivered,
		}
	}
	b.must(list.Err())
	return p
}

// look checks that a new message tells the server nothing, and gives its subject.
// It reads the header block as the server does, which is stricter about line
// ends than client libraries are.
func (b *bus) look(stream string, seq uint64) string {
	b.Helper()
	answer, err := b.witness.Request(api+"STREAM.MSG.GET."+stream, fmt.Appendf(nil, `{"seq":%d}`, seq), patience)
	b.must(err)
	var got struct {
		Message struct {
			Subject string `json:"subject"`
			Header  []byte `json:"hdrs"`
		} `json:"message"`
	}
	b.must(json.Unmarshal(answer.Data, &got))
	for _, header := range orders {
		if bytes.Contains(got.Message.Header, []byte("\r\n"+header+":")) && !strings.HasPrefix(got.Message.Subject, "everturn.timer.set.") {
			b.Errorf("stored on %s with header %q", got.Message.Subject, got.Message.Header)
		}
	}
	return got.Message.Subject
}

// orders are headers by which a stored message would still make the server act.
var orders = []string{
	"Nats-Rollup", "Nats-Schedule", "Nats-TTL",
	"Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit", "Nats-Incr",
}

// rights are what somebody may change by what it is allowed to do.
type rights struct {
	store   []string // filters of what may be stored
	remove  []string // filters of what may be removed
	consume []string // consumers it may move, as STREAM/name
}

// differences is every change that is beyond the rights.
func differences(before, after picture, r rights) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for name, was := range before {
		is, ok := after[name]
		if !ok {
			add("stream %s is gone", name)
			continue
		}
		if was.config != is.config {
			add("stream %s was changed from %s to %s", name, was.config, is.config)
		}
		for seq, subject := range was.subjects {
			if _, ok := is.subjects[seq]; !ok && !covered(r.remove, subject) {
				add("%s: message %d on %s was deleted", name, seq, subject)
			}
		}
		for seq, subject := range is.subjects {
			if _, ok := was.subjects[seq]; !ok && !covered(r.store, subject) {
				add("%s: message %d was stored on %s", name, seq, subject)
			}
		}
		for consumer, state := range was.consumers {
			if got := is.consumers[consumer]; got != state && !slices.Contains(r.consume, name+"/"+consumer) {
				add("%s: consumer %s is %+v, was %+v", name, consumer, got, state)
			}
		}
		for consumer := range is.consumers {
			if _, ok := was.consumers[consumer]; !ok {
				add("%s: consumer %s was made", name, consumer)
			}
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			add("stream %s was made", name)
		}
	}
	return list
}

// covered reports whether one of the filters matches the subject.
func covered(filters []string, subject string) bool {
	return slices.ContainsFunc(filters, func(filter string) bool { return matches(filter, subject) })
}

func matches(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, token := range f {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s), token != "*" && token != s[i]:
			return false
		}
	}
	return len(f) == len(s)
}

// only reports every message that was heard beyond the filters.
func (b *bus) only(who string, heard []*nats.Msg, filters ...string) {
	b.Helper()
	for _, m := range heard {
		if !covered(filters, m.Subject) && !strings.Contains(m.Subject, barrier) {
			b.Errorf("%s heard %s", who, describe(m))
		}
	}
}
