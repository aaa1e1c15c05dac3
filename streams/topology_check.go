package streams

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	maxShards     = 256
	minDuplicates = 100 * time.Millisecond // the smallest window the server takes
	minAckWait    = 100 * time.Millisecond
	minMaxAge     = time.Second
	maxHistory    = 64 // of a key, as the client library has it
)

// topology checks the whole file against what the code relies on. Its result
// means something only if no problem was found.
func (c *fileCheck) topology(file topologyFile) *Topology {
	t := &Topology{file: file}
	if file.Shards < 1 || file.Shards > maxShards {
		c.Wrong("$.shards", "shards is %d and must be from 1 to %d", file.Shards, maxShards)
	}
	switch file.Replicas {
	case replicasAuto:
	case "1", "3", "5":
		t.replicas, _ = strconv.Atoi(file.Replicas)
	default:
		c.Wrong("$.replicas", "replicas is %q and must be auto, 1, 3 or 5", file.Replicas)
	}
	duplicates := c.duration("$.duplicates", "duplicates", file.Duplicates, minDuplicates)

	for i, s := range file.Streams {
		c.streamEntry(t, fmt.Sprintf("$.streams[%d]", i), s)
	}
	for i, b := range file.Buckets {
		c.bucketEntry(t, fmt.Sprintf("$.buckets[%d]", i), b)
	}
	for i, o := range file.Objects {
		c.objectEntry(t, fmt.Sprintf("$.objects[%d]", i), o)
	}
	c.complete(file)

	for i := range t.assets {
		t.assets[i].config.Duplicates = duplicates
	}
	return t
}

// complete reports names that come twice or not at all.
func (c *fileCheck) complete(file topologyFile) {
	names := func(section string, got []string, want []string) {
		for i, name := range got {
			if slices.Index(got, name) < i {
				c.Wrong(fmt.Sprintf("$.%s[%d].name", section, i), "%s is in %s already", name, section)
			}
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				c.Wrong("$."+section, "%s is missing from %s", name, section)
			}
		}
	}
	names("streams", collect(file.Streams, func(s fileStream) string { return s.Name }),
		collect(streamRules(), func(r streamRule) string { return r.name }))
	names("buckets", collect(file.Buckets, func(b fileBucket) string { return b.Name }),
		collect(bucketRules(), func(r bucketRule) string { return r.name }))
	names("objects", collect(file.Objects, func(o fileObject) string { return o.Name }), []string{BlobsStore})
}

func (c *fileCheck) streamEntry(t *Topology, path string, s fileStream) {
	rules := streamRules()
	i := slices.IndexFunc(rules, func(r streamRule) bool { return r.name == s.Name })
	if i < 0 {
		c.Wrong(path+".name", "unknown stream %q: want one of %s", s.Name,
			strings.Join(collect(rules, func(r streamRule) string { return r.name }), ", "))
		return
	}
	rule := rules[i]
	c.streamWords(path, s, rule)
	a := asset{derived: rule.derived, config: jetstream.StreamConfig{
		Name:              s.Name,
		Subjects:          s.Subjects,
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxMsgsPerSubject: -1,
		MaxBytes:          c.size(path+".max_bytes", s.Name, "max_bytes", s.MaxBytes, 1<<20),
		MaxMsgSize:        int32(min(c.size(path+".max_msg_size", s.Name, "max_msg_size", s.MaxMsgSize, rule.minSize), math.MaxInt32)),
		MaxAge:            c.age(path, s, rule),
		Retention:         retention(s.Retention),
		Discard:           discard(s.Discard),
		Storage:           storage(s.Storage),
		PersistMode:       c.persistMode(path, s.Name, s.PersistMode, rule.derived && s.Storage == storageFile),
		AllowDirect:       slices.Contains(s.Allow, allowDirect),
		AllowMsgSchedules: slices.Contains(s.Allow, allowSchedules),
		AllowRollup:       slices.Contains(s.Allow, allowSchedules), // the server turns it on with schedules
		DenyPurge:         slices.Contains(s.Deny, denyPurge),
		DenyDelete:        slices.Contains(s.Deny, denyDelete),
		Metadata:          metadata(s.Owner),
	}}
	a.consumers = c.consumerEntries(t, path, s, rule)
	if s.Name == logStream {
		t.assets = append(t.assets, logAssets(a, min(max(t.file.Shards, 0), maxShards))...)
		return
	}
	t.assets = append(t.assets, a)
}

// streamWords checks what is not the operator's to choose.
func (c *fileCheck) streamWords(path string, s fileStream, rule streamRule) {
	if !slices.Equal(s.Subjects, rule.subjects) {
		c.Wrong(path+".subjects", "%s: subjects must be [%s]", s.Name, strings.Join(rule.subjects, ", "))
	}
	c.word(path+".retention", s.Name, "retention", s.Retention, rule.retention, "")
	c.word(path+".discard", s.Name, "discard", s.Discard, rule.discard, rule.why)
	c.word(path+".storage", s.Name, "storage", s.Storage, rule.storage, "")
	c.word(path+".republish", s.Name, "republish", s.Republish, rule.republish, "")
	for i, w := range s.Allow {
		if w != allowDirect && w != allowSchedules {
			c.Wrong(fmt.Sprintf("%s.allow[%d]", path, i), "%s: cannot allow %q: want %s or %s", s.Name, w, allowDirect, allowSchedules)
		}
	}
	for i, w := range s.Deny {
		if w != denyPurge && w != denyDelete {
			c.Wrong(fmt.Sprintf("%s.deny[%d]", path, i), "%s: cannot deny %q: want %s or %s", s.Name, w, denyPurge, denyDelete)
		}
	}
	if got := slices.Contains(s.Allow, allowSchedules); got != rule.schedules {
		if got {
			c.Wrong(path+".allow", "%s: must not allow schedules: whoever may publish to it could forge and cancel others' messages", s.Name)
		} else {
			c.Wrong(path+".allow", "%s: must allow schedules", s.Name)
		}
	}
	if rule.closed && !slices.Contains(s.Deny, denyPurge) {
		c.Wrong(path+".deny", "%s: must deny purge", s.Name)
	}
	if slices.Contains(s.Deny, denyDelete) && s.Name != FeedStream {
		c.Wrong(path+".deny", "%s: must not deny delete: decided commands, done work and erased chats are deleted", s.Name)
	}
}

func (c *fileCheck) age(path string, s fileStream, rule streamRule) time.Duration {
	if rule.aged {
		return c.duration(path+".max_age", s.Name+": max_age", s.MaxAge, minMaxAge)
	}
	if s.MaxAge != "" {
		c.Wrong(path+".max_age", "%s: must have no max_age: what is stored there stays until it is not needed", s.Name)
	}
	return 0
}

func (c *fileCheck) persistMode(path, name, mode string, asyncAllowed bool) jetstream.PersistModeType {
	switch mode {
	case "", persistDefault:
	case persistAsync:
		if asyncAllowed {
			return jetstream.AsyncPersistMode
		}
		c.Wrong(path+".persist_mode", "%s: persist_mode must not be async: an acknowledged message could be lost", name)
	default:
		c.Wrong(path+".persist_mode", "%s: persist_mode is %q and must be %s or %s", name, mode, persistDefault, persistAsync)
	}
	return jetstream.DefaultPersistMode
}

// consumerEntries gives the consumers that every server has; the templates of
// pools and groups go to the topology.
func (c *fileCheck) consumerEntries(t *Topology, path string, s fileStream, rule streamRule) []jetstream.ConsumerConfig {
	var (
		consumers []jetstream.ConsumerConfig
		seen      []string
	)
	for i, f := range s.Consumers {
		at := fmt.Sprintf("%s.consumers[%d]", path, i)
		switch {
		case !slices.Contains(rule.consumers, f.Name):
			c.Wrong(at+".name", "%s: unknown consumer %q", s.Name, f.Name)
			continue
		case slices.Contains(seen, f.Name):
			c.Wrong(at+".name", "%s: consumer %s is there already", s.Name, f.Name)
			continue
		}
		seen = append(seen, f.Name)
		name := s.Name + "." + f.Name
		config := consumerConfig(f, c.duration(at+".ack_wait", name+": ack_wait", f.AckWait, minAckWait), s.Owner)
		if f.MaxDeliver != -1 {
			c.Wrong(at+".max_deliver", "%s: max_deliver is %d and must be -1: after a last delivery a message would lie there unheeded", name, f.MaxDeliver)
		}
		if f.MaxAckPending < 1 {
			c.Wrong(at+".max_ack_pending", "%s: max_ack_pending is %d and must be at least 1", name, f.MaxAckPending)
		}
		switch f.Name {
		case modelTemplate:
			t.model = config
		case toolTemplate:
			t.tool = config
		default:
			consumers = append(consumers, config)
		}
	}
	for _, name := range rule.consumers {
		if !slices.Contains(seen, name) {
			c.Wrong(path+".consumers", "%s: consumer %s is missing", s.Name, name)
		}
	}
	return consumers
}

func (c *fileCheck) bucketEntry(t *Topology, path string, b fileBucket) {
	rules := bucketRules()
	i := slices.IndexFunc(rules, func(r bucketRule) bool { return r.name == b.Name })
	if i < 0 {
		c.Wrong(path+".name", "unknown bucket %q: want one of %s", b.Name,
			strings.Join(collect(rules, func(r bucketRule) string { return r.name }), ", "))
		return
	}
	rule := rules[i]
	c.word(path+".discard", b.Name, "discard", b.Discard, rule.discard, rule.why)
	c.word(path+".storage", b.Name, "storage", b.Storage, storageFile, "")
	if b.History < 1 || b.History > maxHistory {
		c.Wrong(path+".history", "%s: history is %d and must be from 1 to %d", b.Name, b.History, maxHistory)
	}
	t.assets = append(t.assets, asset{derived: rule.derived, config: jetstream.StreamConfig{
		Name:              bucketPrefix + b.Name,
		Subjects:          []string{"$KV." + b.Name + ".>"},
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxMsgsPerSubject: int64(b.History),
		MaxBytes:          c.size(path+".max_bytes", b.Name, "max_bytes", b.MaxBytes, 1<<20),
		MaxMsgSize:        int32(min(c.size(path+".max_value_size", b.Name, "max_value_size", b.MaxValueSize, minMessageBytes), math.MaxInt32)),
		Discard:           discard(b.Discard),
		PersistMode:       c.persistMode(path, b.Name, b.PersistMode, rule.derived),
		AllowDirect:       true,
		AllowRollup:       true,
		DenyDelete:        true,
		Metadata:          metadata(b.Owner),
	}})
}

func (c *fileCheck) objectEntry(t *Topology, path string, o fileObject) {
	if o.Name != BlobsStore {
		c.Wrong(path+".name", "unknown object store %q: want %s", o.Name, BlobsStore)
		return
	}
	c.word(path+".discard", o.Name, "discard", o.Discard, discardNew, "content that a chat names must stay")
	c.word(path+".storage", o.Name, "storage", o.Storage, storageFile, "")
	t.assets = append(t.assets, asset{config: jetstream.StreamConfig{
		Name:              objectPrefix + o.Name,
		Subjects:          []string{"$O." + o.Name + ".C.>", "$O." + o.Name + ".M.>"},
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxMsgsPerSubject: -1,
		MaxMsgSize:        -1, // the object store cuts content into chunks
		MaxBytes:          c.size(path+".max_bytes", o.Name, "max_bytes", o.MaxBytes, 1<<20),
		Discard:           discard(o.Discard),
		AllowDirect:       false, // a replica may not have yet what was put a moment ago
		AllowRollup:       true,
		Metadata:          metadata(o.Owner),
	}})
}

func retention(word string) jetstream.RetentionPolicy {
	if word == retentionQueue {
		return jetstream.WorkQueuePolicy
	}
	return jetstream.LimitsPolicy
}

func discard(word string) jetstream.DiscardPolicy {
	if word == discardNew {
		return jetstream.DiscardNew
	}
	return jetstream.DiscardOld
}

func storage(word string) jetstream.StorageType {
	if word == storageMemory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

func collect[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}
