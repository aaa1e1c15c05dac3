package sandbox

import (
	"errors"
	"io"
	"os"
)

// pipes are the three between us and the process we start.
type pipes struct{ output, control, status pipe }

type pipe struct{ read, write *os.File }

func (p *pipes) open() error {
	return errors.Join(p.output.open(), p.control.open(), p.status.open())
}

func (p *pipe) open() (err error) {
	p.read, p.write, err = os.Pipe()
	return err
}

// closeOurs closes the ends that the other process has now.
func (p *pipes) closeOurs() {
	closeAll(&p.output.write, &p.control.read, &p.status.write)
}

func (p *pipes) close() {
	closeAll(&p.output.read, &p.output.write, &p.control.read, &p.control.write, &p.status.read, &p.status.write)
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
