//go:build processes && upgrade

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	sharedChats = 40
	sharedTurns = 25 // of each chat: 1,000 in all
	sharedKills = 12

	splitChats = 20
	splitTurns = 6
	splitKills = 4

	rolledChats = 20
	rolledTurns = 40 // that end between two steps of an upgrade

	upgradeTime = 20 * time.Minute
)

// Both releases do everything at once, and die at it.
func TestUpgradeTwoReleasesShareABus(t *testing.T) {
	t.Parallel()
	old, now := previous(t), today()
	m := startMixed(t, settings{ackWait: time.Second, script: quickTurn}, now, old)
	parts := []string{"orchestrator-old", "orchestrator-new", "toolrunner-old", "toolrunner-new"}
	m.startAll(parts...)
	m.startAll("projections-old", "projections-new")
	m.toolsOnOffer()
	m.talkUnderKills(sharedChats, sharedTurns, sharedKills, parts, old, now)
}

// One release decides and asks, the other runs tools.
func TestUpgradeDecidingAndRunningAreOfTwoReleases(t *testing.T) {
	t.Parallel()
	old, now := previous(t), today()
	for _, tt := range []struct{ deciding, running release }{{old, now}, {now, old}} {
		t.Run(fmt.Sprintf("%s orchestrators, %s runners", tt.deciding.name, tt.running.name), func(t *testing.T) {
			m := startMixed(t, settings{ackWait: time.Second, script: quickTurn}, tt.running, tt.deciding)
			var parts []string
			for n := range 2 {
				parts = append(parts, fmt.Sprintf("orchestrator-%s-%d", tt.deciding.name, n), fmt.Sprintf("toolrunner-%s-%d", tt.running.name, n))
			}
			m.startAll(parts...)
			m.startAll("projections-" + tt.running.name)
			m.toolsOnOffer()
			m.talkUnderKills(splitChats, splitTurns, splitKills, parts, old, now)
		})
	}
}

// talkUnderKills lets people talk, kills the victims in turn while they do, and
// judges what came of it.
func (m *mixed) talkUnderKills(chats, turns, kills int, victims []string, releases ...release) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), upgradeTime)
	defer cancel()
	began := time.Now()
	l := m.talk(ctx, chats, turns)
	for n := range kills {
		m.until(ctx, l, (n+1)*chats*turns/(kills+1))
		victim := victims[n%len(victims)]
		m.kill(victim)
		m.restart(victim)
	}
	m.until(ctx, l, chats*turns)
	m.finish(l)
	m.t.Logf("%d turns in %v with %d kills; %s", l.turns.Load(), rounded(time.Since(began)), kills, figures(m.everyMetric("orchestrator")))
	m.nothingIsWrong(l, releases...)
}

// A whole installation goes to the new release, part by part and in use, and
// back again.
func TestUpgradeRollsForthAndBack(t *testing.T) {
	t.Parallel()
	old, now := previous(t), today()
	m := startMixed(t, settings{ackWait: time.Second, script: quickTurn}, old, now)
	m.startAll("orchestrator-old-1", "orchestrator-old-2", "toolrunner-old-1", "toolrunner-old-2", "projections-old")
	m.toolsOnOffer()
	ctx, cancel := context.WithTimeout(t.Context(), upgradeTime)
	defer cancel()
	l := m.talk(ctx, rolledChats, 0)
	rolled := 0
	roll := func(from, to release) {
		for _, step := range []string{"toolrunner-%s-1", "orchestrator-%s-1", "projections-%s", "server", "orchestrator-%s-2", "toolrunner-%s-2"} {
			rolled += rolledTurns
			m.until(ctx, l, rolled)
			if step == "server" {
				m.server = to
				m.replace(step, step)
				continue
			}
			m.replace(fmt.Sprintf(step, from.name), fmt.Sprintf(step, to.name))
			m.works(fmt.Sprintf(step, to.name))
		}
	}
	roll(old, now)
	for name := range m.running {
		if strings.Contains(name, old.name) {
			t.Errorf("%s still runs", name)
		}
	}
	for line := range strings.Lines(m.everturnOf(now, "streams", "diff")) {
		if !strings.Contains(line, "ack_wait") { // that is a setting of this test
			t.Errorf("the new release set the streams up, and would still %s", line)
		}
	}
	rolled = int(l.turns.Load())
	roll(now, old)
	m.until(ctx, l, int(l.turns.Load())+rolledTurns)
	m.finish(l)
	t.Logf("%d turns while every part was replaced twice", l.turns.Load())
	m.nothingIsWrong(l, old, now)
}
