package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/models"
	"github.com/everturn/everturn/model/anthropic"
	"github.com/everturn/everturn/model/openai"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// commands checks the way of a command, from the stream over an orchestrator
// back to us: one about a chat that nobody ever made changes nothing.
func (d *doctor) commands(ctx context.Context) {
	_, err := d.client.Command(ctx, client.NewID(), protocol.Rename{V: protocol.Version, Title: "doctor"})
	rejected, decided := errors.AsType[*client.RejectedError](err)
	switch {
	case decided && rejected.Code == events.CodeUnknownChat:
		d.ok("commands", "stored, decided and answered, for tenant %s", d.c.Tenant)
	case errors.Is(err, client.ErrNotAllowed):
		d.fail("commands", "this user may not send them for tenant "+string(d.c.Tenant), "check --tenant and the credentials")
	case errors.Is(err, client.ErrNoStreams):
		d.fail("commands", "no stream takes them", "run `everturn streams apply`")
	case errors.Is(err, context.DeadlineExceeded):
		d.fail("commands", "stored, and nobody decides them", "start an orchestrator; what waits is decided then")
	default:
		d.fail("commands", fmt.Sprint(err), "see the orchestrator's log")
	}
}

// queries checks that a projection answers.
func (d *doctor) queries(ctx context.Context) {
	_, err := d.client.Head(ctx, client.NewID())
	no, answered := errors.AsType[*client.QueryError](err)
	switch {
	case answered && no.Code == events.CodeUnknownChat:
		d.ok("queries", "answered")
	case errors.Is(err, client.ErrNotAllowed):
		d.fail("queries", "this user may not ask them for tenant "+string(d.c.Tenant), "check --tenant and the credentials")
	case errors.Is(err, client.ErrNoService):
		d.fail("queries", "nobody answers them", "start `everturn projections`")
	default:
		d.fail("queries", fmt.Sprint(err), "see the projection's log")
	}
}

// feed checks that this user may watch.
func (d *doctor) feed(ctx context.Context) {
	chat := client.NewID()
	w, err := d.client.OpenWatcher(ctx, chat)
	if err == nil {
		w.Close()
	}
	switch {
	case errors.Is(err, client.ErrNotAllowed), d.forbidden(protocol.Root + ".feed"):
		d.fail("feed", "this user may not watch chats of tenant "+string(d.c.Tenant), "check --tenant and the credentials")
	case err != nil:
		d.fail("feed", err.Error(), "check the connection")
	default:
		d.ok("feed", "may be watched")
	}
}

// workers checks that somebody waits for the work there is: for each pool of
// models an orchestrator, for each group of tools a runner.
func (d *doctor) workers(ctx context.Context) {
	if d.hidden {
		return
	}
	work, err := d.js.Stream(ctx, streams.WorkStream)
	if err != nil {
		d.warn("workers", "not visible: "+err.Error(), "")
		return
	}
	var waiting, idle []string
	for range maxLooks { // somebody may be between two questions
		if idle, waiting, err = lookAtWorkers(ctx, work); err != nil {
			d.warn("workers", "not visible: "+err.Error(), "")
			return
		}
		if len(idle) == 0 {
			break
		}
		select {
		case <-time.After(betweenLooks):
		case <-ctx.Done():
		}
	}
	switch {
	case len(idle) > 0:
		d.warn("workers", "nobody takes the work of: "+strings.Join(idle, "; "), "start an orchestrator with that pool, or a tool runner of that group")
	case len(waiting) == 0:
		d.warn("workers", "there are none yet", "start an orchestrator and a tool runner")
	default:
		d.ok("workers", "%s", strings.Join(waiting, ", "))
	}
}

// How often it is looked who waits for work.
const (
	maxLooks     = 10
	betweenLooks = 200 * time.Millisecond
)

// lookAtWorkers gives the pools and groups that nobody waits for now, and those
// that somebody does.
func lookAtWorkers(ctx context.Context, work jetstream.Stream) (idle, waiting []string, err error) {
	list := work.ListConsumers(ctx)
	for c := range list.Info() {
		name := c.Config.Durable
		what, of, found := strings.Cut(name, "-")
		if !found || what != "model" && what != "tool" {
			continue
		}
		if c.NumWaiting > 0 || c.NumAckPending > 0 {
			waiting = append(waiting, what+" "+of)
		} else {
			idle = append(idle, fmt.Sprintf("%s %s, with %d waiting", what, of, c.NumPending))
		}
	}
	slices.Sort(waiting)
	slices.Sort(idle)
	return idle, waiting, list.Err()
}

// models checks what this process would know about models: that the file can be
// read, the keys are there, and the providers can be reached. No key is sent.
func (d *doctor) models(ctx context.Context) {
	set, err := d.c.Load()
	if err != nil {
		d.fail("models", err.Error(), "mend it; docs/MODELS.md describes the file")
		return
	}
	if set.Note != "" {
		d.warn("models", set.Note, "set a key, or write a models.yaml")
		return
	}
	reached := map[string]error{}
	for _, m := range set.List() {
		if !m.KeySet {
			d.warn("models", fmt.Sprintf("%s: %s is not set here", m.Name, m.APIKeyEnv), "set it where the orchestrators run")
			continue
		}
		base := baseURL(m.Entry)
		if base == "" {
			d.ok("models", "%s: scripted", m.Name)
			continue
		}
		if _, known := reached[base]; !known {
			reached[base] = reach(ctx, base)
		}
		if err := reached[base]; err != nil {
			d.fail("models", fmt.Sprintf("%s: %v", m.Name, err), "check base_url, the network and its proxy from here")
			continue
		}
		d.ok("models", "%s: %s answers; `everturn models test %s` asks it", m.Name, base, m.Name)
	}
}

// baseURL is where a model is asked, empty if it is a script.
func baseURL(e models.Entry) string {
	switch {
	case e.BaseURL != "":
		return e.BaseURL
	case e.Provider == models.Anthropic:
		return anthropic.DefaultBaseURL
	case e.Provider == models.OpenAI:
		return openai.DefaultBaseURL
	}
	return ""
}

// reach asks for anything at all: whatever the answer, somebody is there.
func reach(ctx context.Context, base string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, base, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// sandbox checks whether commands that tools run can be held on this machine.
// A runner elsewhere finds out by itself, when it starts.
func (d *doctor) sandbox(ctx context.Context) {
	folder, err := os.MkdirTemp("", "everturn-doctor-")
	if err != nil {
		d.warn("sandbox", err.Error(), "")
		return
	}
	defer os.RemoveAll(folder)
	box, err := sandbox.Open(ctx, d.s.launcher, sandbox.Config{Workspace: folder})
	if err != nil {
		d.warn("sandbox", err.Error(), "run tool runners with --commands on another machine; --sandbox=off runs commands without one")
		return
	}
	d.ok("sandbox", "commands can be held on this machine: %s", strings.Join(box.Layers(), ", "))
}
