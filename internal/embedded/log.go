package embedded

import (
	"fmt"
	"log/slog"
)

// serverLog gives the server's words to slog. What the server calls fatal ends
// the start instead of the process.
type serverLog struct {
	to    *slog.Logger
	fatal chan string
}

func (l *serverLog) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Warnf(format string, v ...any)   { l.to.Warn(fmt.Sprintf(format, v...)) }
func (l *serverLog) Errorf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }

func (l *serverLog) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.to.Error(why)
	select {
	case l.fatal <- why:
	default: // the first reason is the one that counts
	}
}
