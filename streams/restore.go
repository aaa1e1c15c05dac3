package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// restoreChunkBytes is how much of a backup is sent in one message.
	restoreChunkBytes = 64 << 10

	// restoreTry bounds one question to the server, and how long it may take to
	// write a chunk to its disk.
	restoreTry = 30 * time.Second

	// interestLimit is how long a chunk is sent again while nobody takes it. A
	// server gives a restore up when nothing has come for 5 s.
	interestLimit = 4 * time.Second
	interestPause = 20 * time.Millisecond
)

// codeNameInUse is the server's no to a restore of what is there, or half there.
const codeNameInUse jetstream.ErrorCode = 10130

// ErrBackup means that a folder has no backup, or not a whole one.
var ErrBackup = errors.New("no whole backup")

// Restored is a stream that a backup was restored to.
type Restored struct {
	Stream   string
	Messages uint64
	Last     uint64 // sequence of the newest message it ever had
	Before   bool   // it was there already, with all that the backup has
}

// Restore makes streams of a folder that has a backup of each, as the nats command
// line writes them, and tells of each when it is whole. What follows from the log
// is left out. Every stream has one copy then, also in a cluster; [Topology.Apply]
// adds the others, and what is missing. Nobody may use the server in the meantime.
//
// A stream that is there is left as it is if it has come as far as the backup, so
// that a restore which was broken off may go on; else the error says so. What has
// begun and fails is taken away again.
//
// The nats command line restores, too, but not dependably into a cluster: whoever
// takes the chunks is another server than the one that is connected to, which may
// hear of the subject for them only after the answer that names it. A chunk that
// nobody took is sent again here.
func (t *Topology) Restore(ctx context.Context, js jetstream.JetStream, folder string, tell func(Restored)) error {
	all, err := t.readBackup(folder)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBackup, folder, err)
	}
	for _, s := range all {
		done, err := s.restore(ctx, js)
		if err != nil {
			return fmt.Errorf("restore stream %s: %w", s.name, err)
		}
		tell(done)
	}
	return nil
}

// restore restores one stream, unless it is there.
func (s saved) restore(ctx context.Context, js jetstream.JetStream) (Restored, error) {
	have, err := s.find(ctx, js)
	if err == nil {
		if have.Last < s.state.LastSeq {
			return have, fmt.Errorf("there is one that has come to %d, and the backup to %d: remove it with `nats stream rm %s` if you do not need it",
				have.Last, s.state.LastSeq, s.name)
		}
		have.Before = true
		return have, nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return have, explain(err)
	}
	to, err := s.begin(ctx, js)
	if codeOf(err) == codeNameInUse {
		return have, fmt.Errorf("%w, though it is not there: a restore was broken off, or is under way; if none is, `nats stream rm %s` removes what is left of it",
			err, s.name)
	}
	if err != nil {
		return have, explain(err)
	}
	if err := s.send(ctx, js.Conn(), to); err != nil {
		return have, errors.Join(explain(err), s.undo(ctx, js))
	}
	return s.settled(ctx, js)
}

// find is the stream as the server has it.
func (s saved) find(ctx context.Context, js jetstream.JetStream) (Restored, error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTry)
	defer cancel()
	stream, err := js.Stream(ctx, s.name)
	if err != nil {
		return Restored{Stream: s.name}, err
	}
	state := stream.CachedInfo().State
	return Restored{Stream: s.name, Messages: state.Msgs, Last: state.LastSeq}, nil
}

// begin announces the stream and gives the subject for what is in it.
func (s saved) begin(ctx context.Context, js jetstream.JetStream) (string, error) {
	o := Options{Domain: js.Options().Domain}
	answer, err := asked(ctx, js.Conn(), o.apiPrefix()+"STREAM.RESTORE."+s.name, s.ask)
	if err != nil {
		return "", err
	}
	var said struct {
		apiAnswer
		To string `json:"deliver_subject"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return "", fmt.Errorf("answer of the server: %w", err)
	}
	return said.To, said.failure()
}

// send sends what is in the stream, and ends when the server has made it.
func (s saved) send(ctx context.Context, nc *nats.Conn, to string) error {
	file, err := os.Open(s.file)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	chunk := make([]byte, restoreChunkBytes)
	for {
		n, err := io.ReadFull(file, chunk)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n == 0 {
			return finished(ctx, nc, to)
		}
		answer, err := asked(ctx, nc, to, chunk[:n])
		if err != nil {
			return err
		}
		if err := failed(answer); err != nil { // nothing is an answer, too
			return err
		}
	}
}

// finished says that all was sent and waits until the server has made the stream,
// for as long as that takes.
func finished(ctx context.Context, nc *nats.Conn, to string) error {
	m, err := nc.RequestWithContext(ctx, to, nil)
	if err != nil {
		return err
	}
	return failed(m.Data)
}

// failed is the error in an answer of the server, if there is one.
func failed(answer []byte) error {
	if len(answer) == 0 {
		return nil
	}
	var said apiAnswer
	if err := json.Unmarshal(answer, &said); err != nil {
		return fmt.Errorf("answer of the server: %w", err)
	}
	return said.failure()
}

// asked sends a question until somebody has taken it, and gives the answer. It is
// not sent again once it may have been taken.
func asked(ctx context.Context, nc *nats.Conn, subject string, question []byte) ([]byte, error) {
	for late := time.Now().Add(interestLimit); ; {
		try, cancel := context.WithTimeout(ctx, restoreTry)
		m, err := nc.RequestWithContext(try, subject, question)
		cancel()
		if err == nil {
			return m.Data, nil
		}
		if !errors.Is(err, nats.ErrNoResponders) || time.Now().After(late) || !pause(ctx, interestPause) {
			return nil, err
		}
	}
}

// undo takes away what was made of a stream that could not be restored. It was not
// there before, or the server would not have begun.
func (s saved) undo(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTry) // also if the operator gave up
	defer cancel()
	if err := js.DeleteStream(ctx, s.name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("what was made of it is still there, remove it with `nats stream rm %s`: %w", s.name, err)
	}
	return nil
}

// settled waits until whoever asks the server for the stream hears of all that was
// restored, its consumers too: in a cluster each is made known to all servers after
// the stream.
func (s saved) settled(ctx context.Context, js jetstream.JetStream) (Restored, error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTry)
	defer cancel()
	for {
		have, err := s.find(ctx, js)
		if err == nil && have.Last < s.state.LastSeq {
			return have, fmt.Errorf("the server has made it up to %d, and the backup has come to %d", have.Last, s.state.LastSeq)
		}
		if err == nil {
			err = s.consumersKnown(ctx, js)
		}
		if err == nil || !pause(ctx, placementPause) {
			return have, err
		}
	}
}

// consumersKnown fails unless all servers know each consumer that the stream has.
func (s saved) consumersKnown(ctx context.Context, js jetstream.JetStream) error {
	stream, err := js.Stream(ctx, s.name)
	if err != nil {
		return err
	}
	known := 0
	names := stream.ConsumerNames(ctx)
	for range names.Name() {
		known++
	}
	if err := names.Err(); err != nil {
		return err
	}
	if has := stream.CachedInfo().State.Consumers; has != known {
		return fmt.Errorf("it has %d consumers, of which the servers know %d", has, known)
	}
	return nil
}
