//go:build processes

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/freeport"
)

// metricsTry is how long a part may take to say its metrics. One that is stopped
// by a signal takes for ever.
const metricsTry = 2 * time.Second

// numbers are the metrics of one part, each added up over its labels.
type numbers map[string]float64

// of is a counter or gauge of the part; one that was never counted is 0.
func (n numbers) of(name string) int { return int(n[name]) }

// metricsAddress is where the part of that name is to serve its metrics.
func (c *cluster) metricsAddress(name string) string {
	c.t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", freeport.One(c.t))
	c.metrics[name] = address
	return address
}

// readMetrics asks a part once.
func (c *cluster) readMetrics(name string) (numbers, error) {
	asker := http.Client{Timeout: metricsTry}
	answer, err := asker.Get("http://" + c.metrics[name] + "/metrics")
	if err != nil {
		return nil, err
	}
	list := numbers{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, ok := metricOf(lines.Text())
		if ok {
			list[name] += value
		}
	}
	return list, errors.Join(lines.Err(), answer.Body.Close())
}

// metricOf takes one line of the text format apart.
func metricOf(line string) (name string, value float64, ok bool) {
	if strings.HasPrefix(line, "#") {
		return "", 0, false
	}
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(line[end+1:], 64)
	name, _, _ = strings.Cut(line[:end], "{")
	return name, value, err == nil
}

// untilMetrics asks a part again and again until holds says yes.
func (c *cluster) untilMetrics(name, what string, holds func(numbers) bool) numbers {
	c.t.Helper()
	ctx := patient(c.t)
	for {
		n, err := c.readMetrics(name)
		if err == nil && holds(n) {
			return n
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("%s: waited in vain for %s; its metrics are %v (%v)", name, what, n, err)
		case <-time.After(poll):
		}
	}
}

// always is what metrics are asked to hold when any will do.
func always(numbers) bool { return true }

// everyMetric is the metrics of all parts of a kind that run, added up.
func (c *cluster) everyMetric(kind string) numbers {
	c.t.Helper()
	sum := numbers{}
	for name := range c.running {
		if !strings.HasPrefix(name, kind+"-") {
			continue
		}
		for metric, value := range c.untilMetrics(name, "its metrics", always) {
			sum[metric] += value
		}
	}
	return sum
}

// Names of metrics.
const (
	commitsMade       = "everturn_orchestrator_commits_total"
	commitsInConflict = "everturn_orchestrator_conflicts_total"
	commandsRejected  = "everturn_orchestrator_rejected_total"
	commandsHelped    = "everturn_orchestrator_helped_total"
	workRedispatched  = "everturn_orchestrator_redispatched_total"
	chatsSwept        = "everturn_orchestrator_sweeps_total"
	commandsSwept     = "everturn_orchestrator_sweeps_commands_total"
	cameTooLate       = "everturn_orchestrator_late_total"
	attemptsLost      = "everturn_orchestrator_attempts_lost_total"
	attemptsRunning   = "everturn_orchestrator_attempts_running"
	callsUnknown      = "everturn_orchestrator_unknown_total"
	givenBack         = "everturn_orchestrator_given_back_total"
	faults            = "everturn_orchestrator_faults_total"
	redelivered       = "everturn_toolrunner_redelivered_total"
	resultsSent       = "everturn_toolrunner_results_total"
	callsRunning      = "everturn_toolrunner_running"
)

func TestMetricsAreReadLineByLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, name string
		value      float64
		ok         bool
	}{
		{`# TYPE commits_total counter`, "", 0, false},
		{`commits_total{cause="command"} 12`, "commits_total", 12, true},
		{`commits_total{cause="a b"} 1.5e+03`, "commits_total", 1500, true},
		{`running 3`, "running", 3, true},
		{``, "", 0, false},
	} {
		if name, value, ok := metricOf(tt.line); name != tt.name || value != tt.value || ok != tt.ok {
			t.Errorf("%q is %q, %v, %v", tt.line, name, value, ok)
		}
	}
}
