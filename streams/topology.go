package streams

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn"
	"github.com/everturn/everturn/protocol"
)

const (
	topologyName   = "streams.yaml" // of the embedded file, in messages
	metadataApp    = "everturn"
	metadataSchema = "1" // raised when what is stored in the streams changes its form

	// clusterReplicas is what auto means in a cluster.
	clusterReplicas = 3
)

// Keys of the metadata on everything Everturn creates.
const (
	keyApp    = "app"
	keySchema = "schema"
	keyOwner  = "owner"
	keyShards = "shards" // on LOG: how many there are
)

// Topology is every stream, consumer, bucket and object store with its limits,
// as a streams.yaml says it. [LoadTopology] makes one; it does not change.
type Topology struct {
	file     topologyFile
	replicas int // 0 is auto
	assets   []asset
	model    jetstream.ConsumerConfig // of a pool, without name and filter
	tool     jetstream.ConsumerConfig // of a group, likewise
}

// asset is one stream on the server; buckets and object stores are streams too.
type asset struct {
	config    jetstream.StreamConfig // as on a single server
	derived   bool                   // follows from the log: may be made anew
	log       bool
	consumers []jetstream.ConsumerConfig
}

// on is the stream's configuration with that many replicas. A replicated
// stream has no async persist mode: the server refuses it.
func (a asset) on(replicas int) jetstream.StreamConfig {
	c := a.config
	c.Metadata = maps.Clone(c.Metadata)
	c.Replicas = replicas
	if replicas > 1 {
		c.PersistMode = jetstream.DefaultPersistMode
	}
	return c
}

// LoadTopology reads a streams.yaml; without a path, the one in the binary. An
// error about the content is a [*FileError] with all problems.
func LoadTopology(path string) (*Topology, error) {
	if path == "" {
		return parseTopology(topologyName, everturn.StreamsYAML())
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return parseTopology(path, source)
}

// Shards is the number of LOG streams.
func (t *Topology) Shards() int { return t.file.Shards }

// Print writes the topology as a streams.yaml, without comments.
func (t *Topology) Print(w io.Writer) error {
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b, yaml.IndentSequence(true)).Encode(t.file); err != nil {
		return fmt.Errorf("print topology: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// StreamConfigs is what the server is to have with that many replicas, in the
// order in which it is made. As JSON each is what `nats stream add --config`
// takes.
func (t *Topology) StreamConfigs(replicas int) []jetstream.StreamConfig {
	configs := make([]jetstream.StreamConfig, len(t.assets))
	for i, a := range t.assets {
		configs[i] = a.on(replicas)
	}
	return configs
}

// replicasOn is the number of replicas on the server that js talks to.
//
// Whether the server of another domain stands in a cluster cannot be seen from
// here: the one we are connected to may be a leaf node, which always says it
// does. What is there shows it, or else the first try to make something.
func (t *Topology) replicasOn(js jetstream.JetStream, have map[string]existing) int {
	if t.replicas > 0 {
		return t.replicas
	}
	if js.Options().Domain != "" {
		for _, a := range t.assets {
			if found, ok := have[a.config.Name]; ok {
				return found.config.Replicas
			}
		}
	}
	if js.Conn().ConnectedClusterName() != "" {
		return clusterReplicas
	}
	return 1
}

// asset by the name of its stream on the server.
func (t *Topology) asset(stream string) asset {
	for _, a := range t.assets {
		if a.config.Name == stream {
			return a
		}
	}
	panic("streams: no asset " + stream) // a name that our own code made up
}

func metadata(owner string) map[string]string {
	return map[string]string{keyApp: metadataApp, keySchema: metadataSchema, keyOwner: owner}
}

// logAssets makes one stream for each shard out of the file's LOG.
func logAssets(model asset, shards int) []asset {
	assets := make([]asset, shards)
	for n := range assets {
		a := model
		a.log = true
		a.config.Name = LogStream(n)
		a.config.Subjects = []string{logSubjects(n)}
		a.config.Metadata = maps.Clone(model.config.Metadata)
		a.config.Metadata[keyShards] = strconv.Itoa(shards)
		a.config.RePublish = &jetstream.RePublish{Source: logSubjects(n), Destination: feedCommits()}
		assets[n] = a
	}
	return assets
}

func consumerConfig(c fileConsumer, ackWait time.Duration, owner string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       c.Name,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxDeliver:    c.MaxDeliver,
		MaxAckPending: c.MaxAckPending,
		FilterSubject: consumerFilter(c.Name),
		Metadata:      metadata(owner),
	}
}

// ModelConsumerConfig is the consumer that the workers of a pool share.
func (t *Topology) ModelConsumerConfig(pool string) jetstream.ConsumerConfig {
	c := t.model
	c.Durable = ModelConsumer(pool)
	c.FilterSubject = protocol.ModelWorkFilter(pool)
	c.Metadata = maps.Clone(t.model.Metadata)
	return c
}

// ToolConsumerConfig is the consumer that the runners of a group share.
func (t *Topology) ToolConsumerConfig(group string) jetstream.ConsumerConfig {
	c := t.tool
	c.Durable = ToolConsumer(group)
	c.FilterSubject = protocol.ToolWorkFilter(group)
	c.Metadata = maps.Clone(t.tool.Metadata)
	return c
}
