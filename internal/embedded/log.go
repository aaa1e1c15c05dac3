package embedded

import (
	"context"
	"fmt"
	"log/slog"
)

// serverLog gives the server's words to slog. What the server calls fatal ends
// the start instead of the process.
type serverLog struct {
	to    *slog.Logger
	fatal chan string
}

// The server's words come as one text, and keep their place in it.

func (l *serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v) }
func (l *serverLog) Errorf(format string, v ...any)  { l.say(slog.LevelError, format, v) }

func (l *serverLog) Fatalf(format string, v ...any) {
	l.say(slog.LevelError, format, v)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default: // the first reason is the one that counts
	}
}

func (l *serverLog) say(level slog.Level, format string, v []any) {
	if l.to.Enabled(context.Background(), level) { // the server has no context to give
		l.to.Log(context.Background(), level, "NATS server", "says", fmt.Sprintf(format, v...))
	}
}
