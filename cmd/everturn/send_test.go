package main

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/streams"
)

// Who forgets --chat would say the name of a chat to a new one.
func TestSeveralTextsAreNotSent(t *testing.T) {
	t.Parallel()
	r := command(t, strings.NewReader(""), nil, "send", "oslo", "hello", "--server", "nats://127.0.0.1:1")
	if r.code != 2 {
		t.Errorf("code %d", r.code)
	}
	says(t, "the error", r.failure.Error(), "--chat oslo")
}

// Nobody decides: the sender is told that it is in good hands.
func TestASendThatNobodyDecidesIsSaidToBeStored(t *testing.T) {
	t.Parallel()
	server := embeddedtest.Start(t, embedded.Options{})
	nc, err := server.Connect("streams")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Apply(t.Context(), js, streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	user, password := server.Credentials()
	r := command(t, strings.NewReader(""), nil, "send", "--chat", "c1", "hello", "--wait", "1s",
		"--server", server.URL(), "--user", user, "--password", password)
	if r.code != 5 {
		t.Errorf("code %d", r.code)
	}
	says(t, "the error", r.failure.Error(), "stored as 0", "do not send it again", "within 1s")
	if strings.Contains(r.failure.Error(), "deadline") {
		t.Errorf("the error is the library's: %v", r.failure)
	}
}

func TestTheChatMayBeNamedByAFlag(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "hello")
	for _, args := range [][]string{
		{"tail", "--chat", "c1", "--until-idle"}, {"log", "--chat", "c1"}, {"log", "c1", "--chat", "c1"}, {"transcript", "--chat", "c1"},
	} {
		if r := b.command("", args...); r.code != 0 {
			t.Errorf("%v: code %d: %v", args, r.code, r.failure)
		}
	}
	for _, args := range [][]string{{"tail"}, {"log", "c1", "--chat", "c2"}, {"interrupt"}} {
		if r := b.command("", args...); r.code != 2 {
			t.Errorf("%v: code %d: %v", args, r.code, r.failure)
		}
	}
}
