package roles

import (
	"context"
	"fmt"
	"testing"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/nats-io/nats.go/jetstream"
)

// TestComparisonNotices does the harm that the attacks want to do, as somebody
// who may: an attack that worked would show.
func TestComparisonNotices(t *testing.T) {
	t.Parallel()

	b := startBus(t, asShipped)
	b.seed()
	before := b.picture(nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, harm := range []struct {
		name string
		do   func() error
	}{
		{"a message is stored", func() error {
			_, err := b.js.Publish(ctx, protocol.LogSubject(0, chat(globex)), nil)
			return err
		}},
		{"a message is deleted", func() error {
			s, err := b.js.Stream(ctx, streams.WorkStream)
			if err != nil {
				return err
			}
			return s.DeleteMsg(ctx, 2)
		}},
		{"a queue is moved", func() error {
			_, err := b.witness.Request(pullSubject(web), []byte(`{"batch":1}`), patience)
			return err
		}},
		{"a call of another group is settled", func() error {
			m, err := b.witness.Request(pullSubject(web), []byte(`{"batch":1}`), patience)
			if err != nil {
				return err
			}
			_, err = b.witness.Request(m.Reply, nil, patience)
			return err
		}},
		{"a consumer is made", func() error {
			_, err := b.js.CreateConsumer(ctx, streams.DeadStream, jetstream.ConsumerConfig{Durable: "evil"})
			return err
		}},
		{"a consumer is deleted", func() error { return b.js.DeleteConsumer(ctx, streams.DeadStream, "evil") }},
		{"a stream is changed", func() error {
			s, err := b.js.Stream(ctx, streams.FeedStream)
			if err != nil {
				return err
			}
			config := s.CachedInfo().Config
			config.Description = "changed"
			_, err = b.js.UpdateStream(ctx, config)
			return err
		}},
		{"a stream is emptied", func() error {
			s, err := b.js.Stream(ctx, "KV_SNAPSHOTS")
			if err != nil {
				return err
			}
			return s.Purge(ctx)
		}},
		{"a stream is made", func() error {
			_, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: "EVIL", Subjects: []string{"evil"}})
			return err
		}},
		{"a stream is deleted", func() error { return b.js.DeleteStream(ctx, "EVIL") }},
	} {
		if err := harm.do(); err != nil {
			t.Fatalf("%s: %v", harm.name, err)
		}
		after := b.picture(before)
		if len(differences(before, after, rights{})) == 0 {
			t.Errorf("%s, and the comparison sees nothing", harm.name)
		}
		before = after
	}
}

// TestAckOfWorkThatNobodyWants pins down what no configuration keeps, as
// docs/ROLES.md says: a message of a work queue that no consumer wants is removed
// by an ack through any consumer. So the consumer of a group or pool has to be
// there before its work is.
func TestAckOfWorkThatNobodyWants(t *testing.T) {
	t.Parallel()

	b := startBus(t, asShipped)
	b.seed()
	b.store("everturn.work.tool.nobody.acme.c1.1-1-1", nil)
	b.store("everturn.work.tool.files.acme.c2.1-1-1", nil)
	before := b.picture(nil)
	var orphan uint64
	for seq, subject := range before[streams.WorkStream].subjects {
		if subject == "everturn.work.tool.nobody.acme.c1.1-1-1" {
			orphan = seq
		}
	}
	runner := b.connect("runner-files")
	for range 2*calls + 1 { // the consumer must have gone past it
		m, err := runner.Request(pullSubject(files), []byte(`{"batch":1}`), patience)
		b.must(err)
		b.must(m.Respond(nil))
	}
	_, err := runner.Request(fmt.Sprintf("%sWORK.tool-files.1.%d.1.0.0", acks, orphan), nil, patience)
	b.must(err)
	b.settle()
	if _, stored := b.picture(before)[streams.WorkStream].subjects[orphan]; stored {
		t.Error("the server keeps it now: docs/ROLES.md can say so")
	}
}
