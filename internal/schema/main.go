// Command schema writes what docs/ says about the wire: a JSON Schema for each
// event and body in docs/schema, and the pages docs/EVENTS.md and
// docs/COMMANDS.md. Everything comes from the Go types, their comments and their
// frozen wire files, so there is one place to change; a test fails when the files
// lag behind. docs/schema/openapi.json is the document that gateways give. The page docs/METRICS.md is made from the declarations of metrics
// in the same way.
//
//	go run ./internal/schema
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/everturn/everturn/gateway"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// schemaDir holds generated files only, so that a file nobody generates any more
// can be told apart and removed.
const schemaDir = "docs/schema"

// run writes all files below the module's root.
func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	stale, err := leftOver(root, files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate is every file by its name below the module's root.
func generate(root string) (map[string][]byte, error) {
	src, err := parse(root)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, b := range catalog() {
		schema, err := src.schema(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		if files[filepath.Join(schemaDir, b.Name+".json")], err = indent(schema); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	commit, err := src.commitSchema()
	if err != nil {
		return nil, err
	}
	if files[filepath.Join(schemaDir, "commit.v1.json")], err = indent(commit); err != nil {
		return nil, err
	}
	if files[filepath.Join(schemaDir, "openapi.json")], err = gateway.Document(); err != nil {
		return nil, err
	}
	if files["docs/EVENTS.md"], err = src.eventsPage(root); err != nil {
		return nil, err
	}
	if files["docs/COMMANDS.md"], err = src.commandsPage(root); err != nil {
		return nil, err
	}
	files["docs/METRICS.md"], err = metricsPage(root)
	return files, err
}

// leftOver names the files in the schema folder that are generated no more.
func leftOver(root string, files map[string][]byte) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, schemaDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := filepath.Join(schemaDir, entry.Name())
		if _, ok := files[name]; !ok && strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
	}
	return names, nil
}
