package streams

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

// A server that is no part of a cluster holds the only copy of each stream, so
// whatever it reads there is the leader's word, and a direct get costs half of
// what asking through the API does. In a cluster a replica answers direct gets
// too, also one that lags.
//
// A server becomes part of a cluster only by starting anew, which ends its
// connections. So what was found out holds for the connection it was found on.

// findSole looks whether the server at the other end is the only one there is,
// now and after each reconnect. Where that cannot be found out it counts as one
// of several.
func (c *connection) findSole(ctx context.Context) {
	c.looks.Store(true)
	connects := c.connects()
	s, err := c.js.Stream(ctx, LogStream(0)) // which whoever opens a connection may ask about
	if err != nil {
		return
	}
	g := s.CachedInfo().Cluster
	if g != nil && g.Name == "" && len(g.Replicas) == 0 && g.Leader == c.nc.ConnectedServerName() && c.nc.ConnectedClusterName() == "" {
		c.soleAt.Store(connects)
	}
}

// connects counts the connections to a server, from 1.
func (c *connection) connects() uint64 { return c.nc.Stats().Reconnects + 1 }

// readDirectly reports whether the stream is one whose messages a server that
// is alone is asked for directly: those on which a turn waits.
func readDirectly(stream string) bool {
	return stream == CommandsStream || strings.HasPrefix(stream, logStream+"_")
}

// direct gives the message that a question is about from whoever answers. It
// gives errNobody where the stream does not allow it, or the answer is none.
func (c *connection) direct(ctx context.Context, stream string, question []byte) (protocol.Stored, error) {
	m, err := c.request(ctx, &nats.Msg{Subject: c.prefix + "DIRECT.GET." + stream, Data: question})
	if err != nil {
		return protocol.Stored{}, err
	}
	switch {
	case m.Header.Get(batchSubject) != "":
		return directlyStored(m)
	case m.Header.Get(statusHeader) == statusNone:
		return protocol.Stored{}, protocol.ErrNotFound
	}
	return protocol.Stored{}, errNobody
}

// directlyStored reads a message to whose headers the server has added its own.
func directlyStored(m *nats.Msg) (protocol.Stored, error) {
	sequence, err := strconv.ParseUint(added(m, batchSequence), 10, 64)
	if err != nil {
		return protocol.Stored{}, fmt.Errorf("header %s: %w", batchSequence, err)
	}
	stored, err := time.Parse(time.RFC3339Nano, added(m, batchTime))
	if err != nil {
		return protocol.Stored{}, fmt.Errorf("header %s: %w", batchTime, err)
	}
	return protocol.Stored{
		Subject: added(m, batchSubject), Sequence: sequence, Time: stored, Header: m.Header, Body: m.Data,
	}, nil
}

// added is a header as the server added it, behind those that the message came
// with. Who sent that may have given it one of the same name, to be taken for
// another message.
func added(m *nats.Msg, header string) string {
	values := m.Header.Values(header)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
