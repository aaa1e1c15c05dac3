package projections

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// Unkept are the queries that only projections with a store can answer: each says what
// to do.
func Unkept() map[string]Query {
	no := func(context.Context, string, []byte) ([]byte, error) {
		return nil, question.Refuse(events.CodeUnavailable, "lists, search, usage and what is open need projections with a store: start `everturn projections --store DIR`")
	}
	return map[string]Query{listing.QueryChats: no, listing.QuerySearch: no, listing.QueryUsage: no, listing.QueryOpen: no}
}
