package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
)

// LogFlags say what is logged and how. Logs go to standard error.
type LogFlags struct {
	LogLevel  Level  `env:"EVERTURN_LOG_LEVEL" default:"${log_level=INFO}" help:"Least level to log: DEBUG, INFO, WARN or ERROR."`
	LogFormat string `env:"EVERTURN_LOG_FORMAT" enum:"auto,json,text" default:"auto" help:"json, text, or auto: text on a terminal."`
}

// Level is the least level that is logged.
type Level slog.Level

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Level) UnmarshalText(text []byte) error {
	if err := (*slog.Level)(l).UnmarshalText(text); err != nil {
		return fmt.Errorf("%q is no level: want DEBUG, INFO, WARN or ERROR", text)
	}
	return nil
}

// String is the level as it can be given again.
func (l Level) String() string { return slog.Level(l).String() }

// Logger writes to w as the flags say.
func (f LogFlags) Logger(w io.Writer) *slog.Logger {
	file, isFile := w.(*os.File)
	terminal := false
	if isFile {
		info, err := file.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if f.LogFormat == "text" || f.LogFormat == "auto" && terminal {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: slog.Level(f.LogLevel), NoColor: !terminal || os.Getenv("NO_COLOR") != ""}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.Level(f.LogLevel)}))
}
