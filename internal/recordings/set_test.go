package recordings_test

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/everturn/everturn/internal/recordings"
	"go.uber.org/goleak"
)

// play plays recordings, and fails for whatever must never happen: also for
// connections and goroutines that are left.
func play(t *testing.T, list []recordings.Recording) recordings.Report {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server := recordings.NewServer()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	runner := recordings.Runner{Server: server, Transport: transport}
	report := runner.Run(t.Context(), list, runtime.GOMAXPROCS(0)*2)
	for _, v := range report.Violations {
		t.Errorf("must not be: %s", v)
	}
	transport.CloseIdleConnections()
	server.Close() // waits for all that is open
	if n := server.Open(); n > 0 {
		t.Errorf("%d connections are still open", n)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	return report
}
