package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Change is one place at which two JSON values are not the same. A side that has
// nothing there is nil.
type Change struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// Changes is what has to be done to one JSON value to make it the other: objects
// by name, in the order of the names, lists by position.
func Changes(old, now []byte) ([]Change, error) {
	a, err := decoded(old)
	if err != nil {
		return nil, err
	}
	b, err := decoded(now)
	if err != nil {
		return nil, err
	}
	var list []Change
	changes(&list, "", a, b)
	return list, nil
}

func decoded(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return v, nil
}

// absent is where one side ends.
type absent struct{}

func changes(list *[]Change, path string, a, b any) {
	switch old := a.(type) {
	case map[string]any:
		if now, ok := b.(map[string]any); ok {
			names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				changes(list, below(path, name), member(old, name), member(now, name))
			}
			return
		}
	case []any:
		if now, ok := b.([]any); ok {
			for i := range max(len(old), len(now)) {
				changes(list, path+"["+strconv.Itoa(i)+"]", element(old, i), element(now, i))
			}
			return
		}
	default:
		if a == b {
			return
		}
	}
	*list = append(*list, Change{Path: path, Old: raw(a), New: raw(b)})
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func member(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func raw(v any) json.RawMessage {
	if v == (absent{}) {
		return nil
	}
	return json.RawMessage(inJSON(v))
}
