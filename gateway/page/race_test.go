//go:build race

package page

import "time"

// muchTime is longer here: the race detector takes ten times as long.
const muchTime = time.Minute
