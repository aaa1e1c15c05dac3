package streams

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// apiPrefix begins every subject of the JetStream API. A domain has its own,
// which also reaches it from a leaf node.
func (o Options) apiPrefix() string {
	if o.Domain == "" {
		return "$JS.API."
	}
	return "$JS." + o.Domain + ".API."
}

// bucketWrite is where to publish what a bucket is to keep under that subject.
// Leaf nodes let no bucket's subject pass; the API of a domain does.
func (c *connection) bucketWrite(subject string) string {
	if c.domain == "" {
		return subject
	}
	return c.prefix + subject
}

// jetStream is the client library's view of the same API.
func (o Options) jetStream(nc *nats.Conn) (jetstream.JetStream, error) {
	try := jetstream.WithDefaultTimeout(o.try())
	if o.Domain == "" {
		return jetstream.New(nc, try)
	}
	return jetstream.NewWithDomain(nc, o.Domain, try)
}
