package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
)

// pipes are those between us and the process we start.
type pipes struct {
	written         streams
	control, status pipe
}

// streams are the pipes that a command writes to: without errors, all goes to output.
type streams struct{ output, errors pipe }

type pipe struct{ read, write *os.File }

func (p *pipes) open(c Command) error {
	return errors.Join(p.written.open(c), p.control.open(), p.status.open())
}

func (s *streams) open(c Command) error {
	if c.Errors == nil {
		return s.output.open()
	}
	return errors.Join(s.output.open(), s.errors.open())
}

// into makes the ends that are written to those of a command.
func (s *streams) into(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = s.output.write, s.output.write
	if s.errors.write != nil {
		cmd.Stderr = s.errors.write
	}
}

// copy hands over what is written until nobody can write any more; then the channel
// is closed.
func (s *streams) copy(c Command) <-chan struct{} {
	done := make(chan struct{})
	var both sync.WaitGroup
	output, errs := s.output.read, s.errors.read
	both.Go(func() { drain(c.Output, output) })
	if errs != nil {
		both.Go(func() { drain(c.Errors, errs) })
	}
	go func() { both.Wait(); close(done) }()
	return done
}

// closeOurs closes the ends that the other process has now.
func (s *streams) closeOurs() { closeAll(&s.output.write, &s.errors.write) }

func (s *streams) close() {
	closeAll(&s.output.read, &s.output.write, &s.errors.read, &s.errors.write)
}

func (p *pipe) open() (err error) {
	p.read, p.write, err = os.Pipe()
	return err
}

// closeOurs closes the ends that the other process has now.
func (p *pipes) closeOurs() {
	p.written.closeOurs()
	closeAll(&p.control.read, &p.status.write)
}

func (p *pipes) close() {
	p.written.close()
	closeAll(&p.control.read, &p.control.write, &p.status.read, &p.status.write)
}

// closeAll closes files; an error would say nothing about the command.
func closeAll(files ...**os.File) {
	for _, f := range files {
		if *f != nil {
			_ = (*f).Close()
			*f = nil
		}
	}
}

// outputAtOnce is how much is read of a command's output at a time: what a pipe holds.
const outputAtOnce = 64 << 10

// drain hands everything over until nobody can write any more. What w says is
// not asked: a command must not wait because its reader has had enough.
func drain(w io.Writer, r io.Reader) {
	buffer := make([]byte, outputAtOnce)
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			_, _ = w.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}
