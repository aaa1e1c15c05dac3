//go:build !race

package page

import "time"

// muchTime is for a text of the largest size; each hostile one took from seconds to
// minutes as Markdown.
const muchTime = 5 * time.Second
