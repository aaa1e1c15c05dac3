package declared

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Files are the files whose programs a command offers as tools.
type Files struct {
	Tools []string `name:"tools" type:"existingfile" sep:"none" placeholder:"FILE" help:"Also offer the programs that this YAML file declares as tools; see docs/DECLARED_TOOLS.md."`
}

// Programs reads every file. The error tells every problem of all of them. Names that are
// taken are those of other tools of the same runner.
func (f Files) Programs(taken ...string) ([]Program, error) {
	var (
		all  []Program
		errs []error
	)
	for _, path := range f.Tools {
		programs, err := Load(path, taken...)
		errs = append(errs, err)
		all = append(all, programs...)
		for _, p := range programs {
			taken = append(taken, p.Manifest.Name)
		}
	}
	if len(all) > maxPrograms {
		errs = append(errs, fmt.Errorf("tools: %d are declared, at most %d are allowed", len(all), maxPrograms))
	}
	return all, errors.Join(errs...)
}

// Open makes tools of the programs of every file, for a runner that has others, as [Open]
// does. What is wrong with the files is a [*FileError].
func (f Files) Open(ctx context.Context, l sandbox.Launcher, others []toolrunner.Tool, o Options) ([]toolrunner.Tool, error) {
	programs, err := f.Programs(toolrunner.Names(others)...)
	if err != nil {
		return nil, &FileError{err}
	}
	return Open(ctx, l, programs, o)
}

// FileError is what is wrong with files of declared tools.
type FileError struct{ err error }

// Error implements error.
func (e *FileError) Error() string { return e.err.Error() }

// Unwrap gives what is wrong with each.
func (e *FileError) Unwrap() error { return e.err }
