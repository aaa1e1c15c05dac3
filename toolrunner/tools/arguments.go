package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// parse reads arguments into v, strictly: the schema has allowed nothing else,
// and a tool that is called in another way should be as careful.
func parse(arguments json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("arguments: something follows the object")
	}
	return nil
}
