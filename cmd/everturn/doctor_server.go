package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/streams"
)

// Versions of the server: with an older one than the first nothing works, since
// it schedules no messages; the second is the oldest that is tested.
const (
	oldestServer = "2.12"
	testedServer = "2.15"
)

const monitorBytes = 1 << 20 // read of what the monitoring address answers

// server checks which server this is, and how far away.
func (d *doctor) server(context.Context) {
	version := d.nc.ConnectedServerVersion()
	rtt, err := d.nc.RTT()
	if err != nil {
		d.fail("server", "it answers no more: "+err.Error(), "see its log")
		return
	}
	detail := fmt.Sprintf("nats-server %s at %s, round trip %v", version, d.nc.ConnectedUrlRedacted(), rtt.Round(10*time.Microsecond))
	switch {
	case older(version, oldestServer):
		d.fail("server", detail, "use nats-server "+testedServer+" or newer: this one schedules no messages")
	case older(version, testedServer):
		d.warn("server", detail, "use nats-server "+testedServer+" or newer: older ones are not tested")
	default:
		d.ok("server", "%s", detail)
	}
}

// older compares major and minor.
func older(version, than string) bool {
	var a, b, c, e int
	_, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &a, &b)
	_, alsoErr := fmt.Sscanf(than, "%d.%d", &c, &e)
	return err == nil && alsoErr == nil && (a < c || a == c && b < e)
}

// jetStream checks that there is storage for this account.
func (d *doctor) jetStream(ctx context.Context) {
	info, err := d.js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		d.fail("jetstream", "it is off for this account", "start the server with -js, or enable it for the account")
	case d.forbidden("API.INFO"):
		d.hidden = true
		d.warn("jetstream", "this user may not ask about it, so streams, storage, clock and workers are not checked",
			"that is right for a client or a runner; run doctor as the operator for the rest")
	case err != nil:
		d.fail("jetstream", err.Error(), "start the server with -js; on a cluster, wait for a leader")
	default:
		domain := ""
		if info.Domain != "" {
			domain = ", domain " + info.Domain
		}
		d.ok("jetstream", "on, %d streams, %d consumers%s", info.Streams, info.Consumers, domain)
	}
}

// forbidden reports whether the server has refused a subject of this connection.
func (d *doctor) forbidden(subject string) bool {
	err := d.nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), subject)
}

// sync checks whether an acknowledgement means that the disk has it. The server
// tells that only at its monitoring address.
func (d *doctor) sync(ctx context.Context) {
	const do = "run the server with sync_interval: always in its jetstream block; the default may lose two minutes at a power cut"
	var interval syncConfig
	var err error
	switch {
	case d.c.Monitor != "":
		interval, err = monitored(ctx, d.c.Monitor)
	case d.c.SystemAccount != "":
		interval, err = asked(ctx, connect.Flags{Server: d.c.Server, Context: d.c.SystemAccount, Timeout: d.c.Timeout, Logger: d.c.Logger})
	default:
		d.warn("sync", "not visible for this user", "name a user of the system account with --system-account, or the monitoring address with --monitor; or look for sync_interval: always in the server's configuration")
		return
	}
	switch {
	case err != nil:
		d.warn("sync", err.Error(), "check --monitor or --system-account")
	case interval.SyncAlways:
		d.ok("sync", "always: what is acknowledged is on the disk")
	default:
		d.warn("sync", fmt.Sprintf("every %v", interval.SyncInterval), do)
	}
}

// syncConfig is part of what the monitoring address tells about JetStream.
type syncConfig struct {
	SyncAlways   bool          `json:"sync_always"`
	SyncInterval time.Duration `json:"sync_interval"`
}

// asked is what the server tells a user of its system account.
func asked(ctx context.Context, flags connect.Flags) (syncConfig, error) {
	var answer struct {
		Data struct {
			Config syncConfig `json:"config"`
		} `json:"data"`
	}
	nc, err := flags.Connect("everturn doctor")
	if err != nil {
		return answer.Data.Config, err
	}
	defer nc.Close()
	m, err := nc.RequestWithContext(ctx, "$SYS.REQ.SERVER.PING.JSZ", []byte(`{"config":true}`))
	if err != nil {
		return answer.Data.Config, fmt.Errorf("ask the system account: %w", err)
	}
	return answer.Data.Config, json.Unmarshal(m.Data, &answer)
}

// monitored is what the server tells at its monitoring address.
func monitored(ctx context.Context, base string) (syncConfig, error) {
	var answer struct {
		Config syncConfig `json:"config"`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/jsz?config=1", nil)
	if err != nil {
		return answer.Config, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer.Config, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, monitorBytes))
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.Config, err
}

// streams compares the server with the topology.
func (d *doctor) streams(ctx context.Context) {
	if d.hidden {
		return
	}
	const apply = "run `everturn streams diff`, then `everturn streams apply`"
	topology, err := d.c.load()
	if err != nil {
		d.fail("streams", err.Error(), "mend the file that --file names")
		return
	}
	plan, err := topology.Diff(ctx, d.js, streams.ApplyOptions{})
	switch {
	case err != nil:
		d.fail("streams", err.Error(), apply)
		return
	case len(plan) == 0:
		d.ok("streams", "as the topology says, %d logs", topology.Shards())
		return
	}
	missing := 0
	var differ []string
	for _, change := range plan {
		switch change.Action {
		case streams.Create, streams.Refuse, streams.Recreate:
			missing++
			differ = append(differ, change.String())
		case streams.Update, streams.Keep:
			differ = append(differ, change.String())
		}
	}
	if missing > 0 {
		d.fail("streams", strings.Join(differ, "\n"), apply)
		return
	}
	d.warn("streams", strings.Join(differ, "\n"), apply)
}

// storage checks how full everything is that has a limit.
func (d *doctor) storage(ctx context.Context) {
	if d.hidden {
		return
	}
	const do = "make room on the disk, or raise the limit (max_bytes in streams.yaml, then `everturn streams apply`); a full one stops what needs it"
	info, err := d.js.AccountInfo(ctx)
	if err != nil {
		d.warn("storage", "not visible: "+err.Error(), "")
		return
	}
	all, err := streams.Fill(ctx, d.js)
	if err != nil {
		d.warn("storage", "not visible: "+err.Error(), "")
		return
	}
	if limit := info.Limits.MaxStore; limit > 0 {
		all = append(all, streams.Fullness{Name: "the account", Bytes: info.Store, Limit: uint64(limit)})
	}
	all = slices.DeleteFunc(all, func(f streams.Fullness) bool { return f.Limit == 0 })
	if len(all) == 0 {
		d.warn("storage", "nothing has a limit", "run `everturn streams apply`: everything Everturn makes has one")
		return
	}
	slices.SortStableFunc(all, func(a, b streams.Fullness) int { return b.Percent() - a.Percent() })
	var full []string
	for _, f := range all {
		if f.Percent() >= streams.FullWarn {
			full = append(full, f.String())
		}
	}
	switch worst := all[0]; {
	case worst.Percent() >= streams.FullAlarm:
		d.fail("storage", strings.Join(full, "\n"), do)
	case worst.Percent() >= streams.FullWarn:
		d.warn("storage", strings.Join(full, "\n"), do)
	default:
		d.ok("storage", "%s, which is the fullest", worst)
	}
}

// clock compares this machine's with the server's.
func (d *doctor) clock(ctx context.Context) {
	if d.hidden {
		return
	}
	clock, err := streams.ClockOffset(ctx, d.nc, streams.Options{Domain: d.c.JSDomain, Try: checkTime}, time.Now)
	switch {
	case err != nil:
		d.warn("clock", "not comparable: "+err.Error(), "")
	case !clock.Agrees():
		d.fail("clock", (&streams.ClockError{Clock: clock}).Error(), "without it a tool may run after its call was settled")
	default:
		d.ok("clock", "%v (to within %v)", clock, clock.Within.Round(10*time.Microsecond))
	}
}
