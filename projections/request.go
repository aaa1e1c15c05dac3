package projections

import "github.com/everturn/everturn/events"

// before reports whether p lies before the commit.
func before(p Point, c events.Commit) bool {
	return p.Rev != 0 && c.Rev > p.Rev || p.Time != 0 && c.At > p.Time
}

const (
	defaultPageLimit = 100
	maxPageLimit     = 1_000
)
