// Package everturn holds what lies beside the module's packages and belongs
// into its binaries.
package everturn

import _ "embed"

//go:embed streams.yaml
var streamsYAML string

// StreamsYAML is streams.yaml as it was when the binary was built.
func StreamsYAML() []byte { return []byte(streamsYAML) }
