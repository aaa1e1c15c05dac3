package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// saveAll makes a backup of every stream, as the nats command line does.
func saveAll(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	folder := t.TempDir()
	for _, config := range mustTopology(t).StreamConfigs(1) {
		if config.Storage == jetstream.FileStorage { // a stream in memory has no backup
			save(t, js, config.Name, filepath.Join(folder, config.Name))
		}
	}
	return folder
}

// save writes a stream's backup into a folder.
func save(t *testing.T, js jetstream.JetStream, stream, folder string) {
	t.Helper()
	nc := js.Conn()
	pieces := make(chan *nats.Msg, 1024)
	to := nc.NewInbox()
	sub, err := nc.ChanSubscribe(to, pieces)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection ends with the test
	answer, err := nc.RequestWithContext(t.Context(), "$JS.API.STREAM.SNAPSHOT."+stream, fmt.Appendf(nil, `{"deliver_subject":%q}`, to))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "backup.json"), answer.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "stream.arc.s2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	for piece := range pieces {
		if len(piece.Data) == 0 {
			if status := piece.Header.Get("Status"); status != "" && status != "204" {
				t.Fatalf("backup of %s: %v", stream, piece.Header)
			}
			return
		}
		if _, err := file.Write(piece.Data); err != nil {
			t.Fatal(err)
		}
		if piece.Reply == "" {
			continue
		}
		if err := piece.Respond(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// lived is a server that has been used, with commands that nobody has decided.
func lived(t *testing.T) (s stage, sequences []uint64) {
	t.Helper()
	s = newStage(t)
	sequences = grow(t, s.Log, someChat, 20)
	for range 3 {
		publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	}
	return s, sequences
}

// restoreAll restores a backup and gives what was told.
func restoreAll(ctx context.Context, t *testing.T, js jetstream.JetStream, folder string) ([]streams.Restored, error) {
	t.Helper()
	var told []streams.Restored
	err := mustTopology(t).Restore(ctx, js, folder, func(r streams.Restored) { told = append(told, r) })
	return told, err
}

// What one server had is restored into three, wherever one is connected; then
// every stream gets its copies, and what follows from the log is made anew.
func TestABackupIsRestoredIntoACluster(t *testing.T) {
	t.Parallel()
	one, sequences := lived(t)
	folder := saveAll(t, one.js)
	three := cluster(t)
	js := clientOf(t, three[1])
	awaitLeader(t, js)

	told, err := restoreAll(t.Context(), t, js, folder)
	if err != nil {
		t.Fatal(err)
	}
	var last streams.Restored
	for _, r := range told {
		if r.Before {
			t.Errorf("%s was there before", r.Stream)
		}
		last = r
	}
	if want := (streams.Restored{Stream: streams.CommandsStream, Messages: 3, Last: 3}); last != want {
		t.Errorf("the last is %+v, want %+v", last, want)
	}
	if stored := storedIn(t, js, streams.CommandsStream); stored != 3 {
		t.Errorf("%d commands are there, want 3", stored)
	}
	if len(told) != 11 { // COMMANDS, four logs, DEAD, four buckets, one object store
		t.Errorf("restored are %v", told)
	}

	again, err := restoreAll(t.Context(), t, js, folder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range told {
		told[i].Before = true
	}
	if diff := cmp.Diff(told, again, cmpopts.SortSlices(func(a, b streams.Restored) bool { return a.Stream < b.Stream })); diff != "" {
		t.Errorf("restored again (-first +again):\n%s", diff)
	}

	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	for _, config := range mustTopology(t).StreamConfigs(3) {
		if got := streamConfig(t, js, config.Name).Replicas; got != 3 {
			t.Errorf("%s has %d copies", config.Name, got)
		}
	}
	bus := openBus(t, three[2])
	got, err := readAll(t, bus.Log, someChat, 0, sequences[len(sequences)-1])
	if err != nil || len(got) != len(sequences) {
		t.Errorf("%d commits of %d are there: %v", len(got), len(sequences), err)
	}
}

// What is in the way of a restore is said, and stays as it is.
func TestAStreamThatHasLessIsInTheWay(t *testing.T) {
	t.Parallel()
	one, _ := lived(t)
	folder := saveAll(t, one.js)
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	_, err := restoreAll(t.Context(), t, js, folder)
	if err == nil || !strings.Contains(err.Error(), "nats stream rm") {
		t.Errorf("restored over an empty stream: %v", err)
	}
}

// A backup that lacks a part of the log is noticed before anything is made of it.
func TestABackupMustBeWhole(t *testing.T) {
	t.Parallel()
	one, _ := lived(t)
	for what, spoil := range map[string]func(t *testing.T, folder string){
		"LOG_2 is missing":   func(t *testing.T, folder string) { remove(t, filepath.Join(folder, "LOG_2")) },
		"its content is":     func(t *testing.T, folder string) { remove(t, filepath.Join(folder, "COMMANDS", "stream.arc.s2")) },
		"it is another's":    func(t *testing.T, folder string) { rename(t, folder, "LOG_1", "LOG_2") },
		"what it is, is not": func(t *testing.T, folder string) { write(t, filepath.Join(folder, "LOG_0", "backup.json"), "{") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			folder := saveAll(t, one.js)
			spoil(t, folder)
			js := clientOf(t, bareServer(t, nil))
			told, err := restoreAll(t.Context(), t, js, folder)
			if !errors.Is(err, streams.ErrBackup) || len(told) > 0 {
				t.Errorf("restored %v, %v", told, err)
			}
		})
	}
}

// DEAD may be missing, since nobody has to keep it, and the buckets of tokens and of
// skills, since a release before them had none.
func TestABackupNeedsNoDeadLettersAndNoTokens(t *testing.T) {
	t.Parallel()
	one, _ := lived(t)
	folder := saveAll(t, one.js)
	remove(t, filepath.Join(folder, streams.DeadStream))
	remove(t, filepath.Join(folder, "KV_"+streams.TokensBucket))
	remove(t, filepath.Join(folder, "KV_"+streams.SkillsBucket))
	told, err := restoreAll(t.Context(), t, clientOf(t, bareServer(t, nil)), folder)
	if err != nil || len(told) != 8 {
		t.Errorf("restored %v, %v", told, err)
	}
}

// Content that is cut off is no stream: what was begun is taken away, so that a
// whole backup can take its place.
func TestWhatCannotBeRestoredIsTakenAway(t *testing.T) {
	t.Parallel()
	one, _ := lived(t)
	folder := saveAll(t, one.js)
	file := filepath.Join(folder, streams.CommandsStream, "stream.arc.s2")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	three := cluster(t)
	js := clientOf(t, three[0])
	awaitLeader(t, js)
	write(t, file, string(whole[:len(whole)/2]))
	if _, err := restoreAll(t.Context(), t, js, folder); err == nil {
		t.Fatal("half a stream was restored")
	}
	write(t, file, string(whole))
	told, err := restoreAll(t.Context(), t, js, folder)
	if err != nil {
		t.Fatal(err)
	}
	if last := told[len(told)-1]; last.Stream != streams.CommandsStream || last.Before || last.Messages != 3 {
		t.Errorf("restored then: %+v", last)
	}
}

// Whoever was killed while it restored leaves a name that is taken, and no stream.
// The error says how to get rid of it.
func TestWhatIsLeftOfABrokenRestoreIsInTheWay(t *testing.T) {
	t.Parallel()
	one, _ := lived(t)
	folder := saveAll(t, one.js)
	js := clientOf(t, cluster(t)[0])
	awaitLeader(t, js)
	var ask struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	content, err := os.ReadFile(filepath.Join(folder, "LOG_0", "backup.json"))
	if err == nil {
		err = json.Unmarshal(content, &ask)
	}
	if err == nil {
		content, err = json.Marshal(ask)
	}
	if err == nil {
		_, err = js.Conn().RequestWithContext(t.Context(), "$JS.API.STREAM.RESTORE.LOG_0", content)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restoreAll(t.Context(), t, js, folder); err == nil || !strings.Contains(err.Error(), "nats stream rm LOG_0") {
		t.Errorf("restored beside what is left of another: %v", err)
	}
	if err := js.DeleteStream(t.Context(), "LOG_0"); err != nil {
		t.Fatal(err)
	}
	if _, err := restoreAll(t.Context(), t, js, folder); err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, folder, from, to string) {
	t.Helper()
	remove(t, filepath.Join(folder, to))
	if err := os.Rename(filepath.Join(folder, from), filepath.Join(folder, to)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
