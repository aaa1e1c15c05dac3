package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Config is what all commands of a sandbox have in common.
type Config struct {
	// Workspace is the folder that commands work in. It may be written unless a
	// command says otherwise.
	Workspace string

	// Read lists further folders that commands may read, and run programs from.
	Read []string

	// Environment has NAME=VALUE for what commands get beside, or instead of, what
	// the package gives them: PATH, HOME, TMPDIR, LANG, TERM, and what keeps
	// programs from asking anybody.
	Environment []string

	// Limits bounds what a command may use. Zero values mean the defaults.
	Limits Limits

	// Off runs commands without any of this: as the user who runs this process,
	// with all that this user may do. Environment, input and the end of processes
	// are then all that is looked after.
	Off bool
}

// Limits bounds one command and everything it starts.
type Limits struct {
	Memory      int64         // bytes, of all its processes together; default [DefaultMemory]
	Processes   int           // and threads; default [DefaultProcesses]
	FileSize    int64         // bytes of one file; default [DefaultFileSize]
	OpenFiles   int           // of one process; default [DefaultOpenFiles]
	Temporary   int64         // bytes in /tmp, which is memory; default [DefaultTemporary]
	CPU         time.Duration // of one process, in whole seconds; default [DefaultCPU]
	AddressBits int           // an address space of 2 to that, of one process; default [DefaultAddressBits]
}

// Defaults of [Limits]. A build or a run of tests fits; what does not is for an
// operator to allow.
const (
	DefaultMemory      = 4 << 30
	DefaultProcesses   = 1024
	DefaultFileSize    = 1 << 30
	DefaultOpenFiles   = 1024
	DefaultTemporary   = 512 << 20
	DefaultCPU         = 15 * time.Minute
	DefaultAddressBits = 40 // some runtimes reserve hundreds of gigabytes and use none of it
)

func (l Limits) withDefaults() Limits {
	def := func(n *int64, v int64) {
		if *n == 0 {
			*n = v
		}
	}
	def(&l.Memory, DefaultMemory)
	def(&l.FileSize, DefaultFileSize)
	def(&l.Temporary, DefaultTemporary)
	if l.Processes == 0 {
		l.Processes = DefaultProcesses
	}
	if l.OpenFiles == 0 {
		l.OpenFiles = DefaultOpenFiles
	}
	if l.CPU == 0 {
		l.CPU = DefaultCPU
	}
	if l.AddressBits == 0 {
		l.AddressBits = DefaultAddressBits
	}
	return l
}

// Command is one command.
type Command struct {
	// Argv is the program and its arguments, exactly. A program without a slash is
	// looked for in the PATH of the environment; no shell looks at any of it.
	Argv []string

	// Directory is where it starts, relative to the workspace. Empty means the
	// workspace itself.
	Directory string

	// Network gives it the network of the host. Without, it has a loopback of its
	// own and nothing else.
	Network bool

	// ReadOnly lets it write nothing but its own /tmp.
	ReadOnly bool

	// Read lists what it may read beside the folders of [Config]: full paths without
	// links, of folders or files, as [Readable] gives them.
	Read []string

	// Folder is where it starts in place of Directory: a full path without links, of
	// the workspace, of something it may read, or below one.
	Folder string

	// Environment has NAME=VALUE for what it gets beside, or instead of, that of [Config].
	Environment []string

	// Input is what it reads: the end of a pipe, which Run closes as soon as the
	// command has it. Nil is an input that is empty.
	Input *os.File

	// Output gets what it writes to standard output, and without Errors also to
	// standard error, in the order it comes, from one goroutine. Write must take
	// everything.
	Output io.Writer

	// Errors gets what it writes to standard error, from a goroutine of its own.
	Errors io.Writer
}

// Result is how a command ended.
type Result struct {
	Exit   int           // its exit code; -1 if a signal or a limit ended it
	Signal string        // the name of the signal that ended it, else empty
	Limit  string        // the limit that ended it, else empty
	Ran    time.Duration // from its start to the end of the last process of it
	Layers []string      // in force while it ran; none if the sandbox is off
}

// Errors of a run.
var (
	// ErrNotStarted means that the command never ran: there is no such program or
	// folder, or what should hold it could not be had. Nothing has happened.
	ErrNotStarted = errors.New("not started")

	// ErrUnavailable means that this system cannot hold commands. The text says
	// which layer is missing.
	ErrUnavailable = errors.New("the sandbox cannot be had on this system")
)

// termGrace is how long a command may go on after it was told to end.
const termGrace = 2 * time.Second

// Sandbox runs commands. It is safe for concurrent use, and holds nothing open.
type Sandbox struct {
	cfg    Config
	plan   plan
	layers []string
}

// Open tries out what this system can do, by running a command that does
// nothing, and gives a sandbox that does it. It waits for that command, or for
// ctx. The error is [ErrUnavailable] if a layer is missing.
func Open(ctx context.Context, l Launcher, cfg Config) (*Sandbox, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if cfg.Off {
		return &Sandbox{cfg: cfg}, nil
	}
	if !l.entered {
		return nil, fmt.Errorf("%w: this program does not call sandbox.Enter first thing in main", ErrUnavailable)
	}
	var errs []error
	for _, p := range plans() {
		layers, err := try(ctx, cfg, p)
		if err == nil {
			return &Sandbox{cfg: cfg, plan: p, layers: layers}, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", p, err))
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))
}

// Layers are those that commands have around them; none if the sandbox is off.
func (s *Sandbox) Layers() []string { return slices.Clone(s.layers) }

// Off says that commands run without any layer.
func (s *Sandbox) Off() bool { return s.cfg.Off }

// Workspace is the folder that commands work in, without links in its path.
func (s *Sandbox) Workspace() string { return s.cfg.Workspace }

// Run runs a command to its end, and returns when nothing of it is left. When
// ctx ends, the command is told to end, and killed two seconds later; the
// result is then how it ended, and the error that of ctx.
//
// With the sandbox off, a process that has left the command's process group may
// survive.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	defer closeAll(&c.Input)
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	if s.cfg.Off {
		return s.runPlain(ctx, c)
	}
	return s.runHeld(ctx, c)
}

func (c Command) check() error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return fmt.Errorf("%w: no program is named", ErrNotStarted)
	case slices.ContainsFunc(c.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return fmt.Errorf("%w: an argument has a NUL byte in it", ErrNotStarted)
	case strings.ContainsRune(c.Directory, 0), !filepath.IsLocal(filepath.Join(".", c.Directory)) || filepath.IsAbs(c.Directory):
		return fmt.Errorf("%w: directory %.100q: want a path inside the workspace, relative to it", ErrNotStarted, c.Directory)
	case slices.ContainsFunc(append(slices.Clone(c.Read), c.Folder), func(path string) bool {
		return path != "" && (!filepath.IsAbs(path) || strings.ContainsRune(path, 0))
	}):
		return fmt.Errorf("%w: want full paths of what may be read and of the folder", ErrNotStarted)
	}
	if err := checkEnvironment(c.Environment); err != nil {
		return fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	return nil
}

// folders are those of which one is, or holds, the folder that a command starts in.
func (c Config) folders(read []string) []string {
	return append(append([]string{c.Workspace}, c.Read...), read...)
}

// Readable is the full path of a file or folder, without links, if commands can be
// shown it: not if they have a folder of their own in its place.
func Readable(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(full)
	if at, ok := errors.AsType[*fs.PathError](err); ok { // which names some folder above it
		return "", fmt.Errorf("%s: %w", full, at.Err)
	}
	if err != nil {
		return "", err
	}
	return real, checkReadable(real)
}

func checkReadable(path string) error {
	if path == "/" || path == "/tmp" || slices.Contains(system(), path) {
		return fmt.Errorf("%s: commands have a folder of their own in its place; name one below it", path)
	}
	return nil
}

func checkEnvironment(list []string) error {
	for _, v := range list {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.ContainsRune(v, 0) {
			return fmt.Errorf("environment: want NAME=VALUE without a NUL byte, not %.40q", name)
		}
	}
	return nil
}

// system lists the folders that a workspace must neither be nor hold: commands
// read them, or have their own in place of them.
func system() []string {
	return []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"}
}

// checked is the configuration with full paths, links resolved, and defaults.
func (c Config) checked() (Config, error) {
	workspace, err := realFolder(c.Workspace)
	if err != nil {
		return c, fmt.Errorf("sandbox: workspace: %w", err)
	}
	c.Workspace = workspace
	c.Read = slices.Clone(c.Read)
	for i, folder := range c.Read {
		if c.Read[i], err = realFolder(folder); err != nil {
			return c, fmt.Errorf("sandbox: read: %w", err)
		}
	}
	for _, folder := range append([]string{workspace}, c.Read...) {
		if err := checkReadable(folder); err != nil && !c.Off {
			return c, fmt.Errorf("sandbox: %w", err)
		}
	}
	if err := checkEnvironment(c.Environment); err != nil {
		return c, fmt.Errorf("sandbox: %w", err)
	}
	c.Limits = c.Limits.withDefaults()
	return c, nil
}

func realFolder(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return "", err
	}
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s: this is no folder", full)
	}
	return full, nil
}

// systemPath is where programs are looked for. Nobody but the administrator can
// put one there.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the whole environment of a command, with what is its own: nothing
// of ours is handed on. Later values replace earlier ones.
func (c Config) environment(own []string) []string {
	env := []string{
		"PATH=" + systemPath, "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb",
		"PAGER=cat", "GIT_PAGER=cat", "EDITOR=false", "VISUAL=false", "GIT_EDITOR=false",
		"GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive",
	}
	for _, v := range append(slices.Clone(c.Environment), own...) {
		name, _, _ := strings.Cut(v, "=")
		env = slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		env = append(env, v)
	}
	return env
}
