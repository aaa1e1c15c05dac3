package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestDoctorSaysWhatIsFull(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", strings.Repeat("hello ", 1000))
	b.command("", "tail", "c1", "--until-idle")
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var log *jetstream.StreamInfo
	for s := range js.ListStreams(t.Context()).Info() {
		if strings.HasPrefix(s.Config.Name, "LOG_") && s.State.Bytes > 0 {
			log = s
		}
	}
	for _, tt := range []struct {
		percent int
		verdict string
		code    int
	}{{65, verdictOK, 0}, {75, verdictWarn, 0}, {90, verdictFail, 1}} {
		config := log.Config
		config.MaxBytes = int64(log.State.Bytes)*100/int64(tt.percent) - 1
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		r := b.command("", "doctor", "--json")
		verdict, detail := verdictOf(t, r, "storage")
		if want := fmt.Sprintf("%s is %d %% full", config.Name, tt.percent); verdict != tt.verdict || !strings.Contains(detail, want) || r.code != tt.code {
			t.Errorf("code %d, %s: %s, want %s: %s", r.code, verdict, detail, tt.verdict, want)
		}
	}
	config := log.Config
	config.Discard, config.MaxBytes = jetstream.DiscardOld, 1<<30
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if verdict, detail := verdictOf(t, b.command("", "doctor", "--json"), "streams"); verdict != verdictFail || !strings.Contains(detail, "LOG_") {
		t.Errorf("a log that drops commits: %s: %s", verdict, detail)
	}
}
