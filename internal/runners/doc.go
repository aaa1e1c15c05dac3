// Package runners tries the runners of docs/RUNNERS.md that are written in other
// languages, together with one in Go: real processes, in accounts of their own. Run
// it with make runners.
package runners
