package streams_test

import (
	"errors"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	oneCommand     = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	anotherCommand = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
)

// everyChat stands for all chats of all tenants.
var everyChat = events.Key{Tenant: protocol.Any, Chat: protocol.Any}

func openLetters(t *testing.T, s stage) *streams.Letters {
	t.Helper()
	letters, err := streams.OpenLetters(clientOf(t, s.server).Conn(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(letters.Close)
	return letters
}

// aside sets a command aside.
func aside(t *testing.T, s stage, k events.Key, command, why string) {
	t.Helper()
	m := protocol.Stored{
		Subject: protocol.CommandSubject(k, "send"), Sequence: 9, Body: []byte(`{"v":1}`),
		Header: map[string][]string{protocol.HeaderBy: {"user:ann"}},
	}
	if err := s.Dead.Put(t.Context(), k, m, command, why); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, letters *streams.Letters, k events.Key) []streams.Letter {
	t.Helper()
	all, err := letters.List(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLettersAreListedOnceForEachCommand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	letters := openLetters(t, s)
	other := events.Key{Tenant: "globex", Chat: "c2"}
	if all := listed(t, letters, everyChat); len(all) != 0 {
		t.Fatalf("listed %+v before anything was set aside", all)
	}
	for range 2 {
		if _, err := s.Dead.Note(t.Context(), someChat, oneCommand); err != nil {
			t.Fatal(err)
		}
	}
	if all := listed(t, letters, everyChat); len(all) != 0 {
		t.Fatalf("listed %+v, which is still being tried", all)
	}
	aside(t, s, someChat, oneCommand, "at first")
	aside(t, s, other, oneCommand, "of another tenant")
	aside(t, s, someChat, oneCommand, "at last")
	aside(t, s, someChat, anotherCommand, "the other command")
	all := listed(t, letters, everyChat)
	if len(all) != 3 || all[0].Key != someChat || all[1].Key != other || all[2].Command != anotherCommand {
		t.Fatalf("listed %+v, want one for each command, the oldest in front", all)
	}
	first := all[0]
	if first.Why != "at last" || first.Times != 2 || first.Tries != 2 || first.Verb != "send" || first.By != "user:ann" ||
		first.Sequence != 9 || first.Bytes != 7 || first.At.IsZero() {
		t.Errorf("listed %+v", first)
	}
	if body, err := letters.Body(t.Context(), first); err != nil || string(body) != `{"v":1}` {
		t.Errorf("body %s and %v", body, err)
	}
	if of := listed(t, letters, someChat); len(of) != 2 {
		t.Errorf("listed %+v of one chat, want 2", of)
	}
}

func TestADroppedLetterIsGoneWithItsNotes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	letters := openLetters(t, s)
	for _, command := range []string{oneCommand, anotherCommand} {
		if _, err := s.Dead.Note(t.Context(), someChat, command); err != nil {
			t.Fatal(err)
		}
		aside(t, s, someChat, command, "a bug")
	}
	letter := listed(t, letters, someChat)[0]
	for range 2 { // one that is gone is no error
		if err := letters.Drop(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	if left := listed(t, letters, someChat); len(left) != 1 || left[0].Command != anotherCommand || left[0].Tries != 1 {
		t.Errorf("left %+v, want the other command's", left)
	}
	if _, err := letters.Body(t.Context(), letter); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("its body: %v, want not found", err)
	}
	if n, err := s.Dead.Note(t.Context(), someChat, oneCommand); n != 1 || err != nil {
		t.Errorf("the next note counts %d (%v), want 1: the old ones are gone", n, err)
	}
}

func TestALetterWhoseCommandIsStillStoredWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	letters := openLetters(t, s)
	ack, err := s.js.Publish(t.Context(), protocol.CommandSubject(someChat, "send"), []byte(`{"v":1}`))
	if err != nil {
		t.Fatal(err)
	}
	m := protocol.Stored{Subject: protocol.CommandSubject(someChat, "send"), Sequence: ack.Sequence, Body: []byte(`{"v":1}`)}
	if err := s.Dead.Put(t.Context(), someChat, m, oneCommand, "a bug"); err != nil {
		t.Fatal(err)
	}
	letter := listed(t, letters, someChat)[0]
	if waits, err := letters.Waits(t.Context(), letter); !waits || err != nil {
		t.Errorf("waits: %t, %v", waits, err)
	}
	if err := s.Commands.Delete(t.Context(), ack.Sequence); err != nil {
		t.Fatal(err)
	}
	if waits, err := letters.Waits(t.Context(), letter); waits || err != nil {
		t.Errorf("waits when it is gone: %t, %v", waits, err)
	}
}
