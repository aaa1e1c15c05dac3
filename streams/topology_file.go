package streams

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn"
	"github.com/everturn/everturn/internal/yamlfile"
)

// topologyFile is a streams.yaml as it is written.
type topologyFile struct {
	Shards     int          `yaml:"shards"`
	Replicas   string       `yaml:"replicas"`
	Duplicates string       `yaml:"duplicates"`
	Streams    []fileStream `yaml:"streams"`
	Buckets    []fileBucket `yaml:"buckets"`
	Objects    []fileObject `yaml:"objects"`
}

type fileStream struct {
	Name        string         `yaml:"name"`
	Owner       string         `yaml:"owner,omitempty"`
	Subjects    []string       `yaml:"subjects"`
	Retention   string         `yaml:"retention"`
	Discard     string         `yaml:"discard"`
	Storage     string         `yaml:"storage"`
	PersistMode string         `yaml:"persist_mode,omitempty"`
	MaxAge      string         `yaml:"max_age,omitempty"`
	MaxBytes    string         `yaml:"max_bytes"`
	MaxMsgSize  string         `yaml:"max_msg_size"`
	Allow       []string       `yaml:"allow,omitempty"`
	Deny        []string       `yaml:"deny,omitempty"`
	Republish   string         `yaml:"republish,omitempty"`
	Consumers   []fileConsumer `yaml:"consumers,omitempty"`
}

type fileConsumer struct {
	Name          string `yaml:"name"`
	AckWait       string `yaml:"ack_wait"`
	MaxDeliver    int    `yaml:"max_deliver"`
	MaxAckPending int    `yaml:"max_ack_pending"`
}

type fileBucket struct {
	Name         string `yaml:"name"`
	Owner        string `yaml:"owner,omitempty"`
	History      int    `yaml:"history"`
	Discard      string `yaml:"discard"`
	Storage      string `yaml:"storage"`
	PersistMode  string `yaml:"persist_mode,omitempty"`
	MaxBytes     string `yaml:"max_bytes"`
	MaxValueSize string `yaml:"max_value_size"`
}

type fileObject struct {
	Name     string `yaml:"name"`
	Owner    string `yaml:"owner,omitempty"`
	Discard  string `yaml:"discard"`
	Storage  string `yaml:"storage"`
	MaxBytes string `yaml:"max_bytes"`
}

// FileError is everything that is wrong with a streams.yaml.
type FileError = yamlfile.Error

// parseTopology decodes and checks a file. What cannot be decoded is reported
// alone; what can be is checked completely.
func parseTopology(name string, source []byte) (*Topology, error) {
	var file topologyFile
	read, err := yamlfile.Read(name, source, &file, nil)
	if err != nil {
		return nil, err
	}
	c := &fileCheck{read}
	if file.Buckets, err = withLate(file.Buckets); err != nil {
		return nil, err
	}
	topology := c.topology(file)
	if err := read.Err(); err != nil {
		return nil, err
	}
	return topology, nil
}

// withLate is the buckets of a file, with those of this binary that a file of an
// older release cannot have. So whoever has such a file need not change it first.
func withLate(buckets []fileBucket) ([]fileBucket, error) {
	var own topologyFile
	if _, err := yamlfile.Read(topologyName, everturn.StreamsYAML(), &own, nil); err != nil {
		return nil, err
	}
	for _, b := range own.Buckets {
		named := func(other string) bool { return other == b.Name }
		late := slices.ContainsFunc(bucketRules(), func(r bucketRule) bool { return r.late && named(r.name) })
		if late && !slices.ContainsFunc(buckets, func(other fileBucket) bool { return named(other.Name) }) {
			buckets = append(buckets, b)
		}
	}
	return buckets, nil
}

// fileCheck checks the values of a file.
type fileCheck struct{ *yamlfile.File }

// word reports a value that is not the only one the code can work with.
func (c *fileCheck) word(path, name, key, got, want, why string) {
	if got == want {
		return
	}
	if why != "" {
		why = ": " + why
	}
	if got == "" {
		c.Wrong(path, "%s: %s is missing: it must be %q%s", name, key, want, why)
		return
	}
	c.Wrong(path, "%s: %s is %q and must be %q%s", name, key, got, want, why)
}

// size reads "512KiB" and gives bytes, at least low.
func (c *fileCheck) size(path, name, key, text string, low int64) int64 {
	if text == "" {
		c.Wrong(path, "%s: %s is missing: everything has a limit", name, key)
		return 0
	}
	n, ok := parseSize(text)
	switch {
	case !ok:
		c.Wrong(path, "%s: %s is %q: want a number of bytes, or one with KiB, MiB, GiB or TiB", name, key, text)
	case n < low:
		c.Wrong(path, "%s: %s is %s and must be at least %s", name, key, text, sizeText(low))
	}
	return n
}

// duration reads "15s", at least low.
func (c *fileCheck) duration(path, what, text string, low time.Duration) time.Duration {
	if text == "" {
		c.Wrong(path, "%s is missing", what)
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		c.Wrong(path, "%s is %q: want a duration such as 100ms, 15s or 720h", what, text)
	case d < low:
		c.Wrong(path, "%s is %s and must be at least %s", what, text, low)
	}
	return d
}

// sizeUnits in the order in which [sizeText] tries them.
func sizeUnits() []struct {
	suffix string
	bytes  int64
} {
	return []struct {
		suffix string
		bytes  int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func parseSize(text string) (int64, bool) {
	unit := int64(1)
	for _, u := range sizeUnits() {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}

func sizeText(n int64) string {
	for _, u := range sizeUnits() {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}
