package cli

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
)

// LogFlags say what is logged and how. Logs go to standard error.
type LogFlags struct {
	LogLevel  slog.Level `env:"EVERTURN_LOG_LEVEL" default:"${log_level=INFO}" help:"Least level to log: DEBUG, INFO, WARN or ERROR."`
	LogFormat string     `env:"EVERTURN_LOG_FORMAT" enum:"auto,json,text" default:"auto" help:"json, text, or auto: text on a terminal."`
}

// Logger writes to w as the flags say.
func (f LogFlags) Logger(w io.Writer) *slog.Logger {
	file, isFile := w.(*os.File)
	terminal := false
	if isFile {
		info, err := file.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if f.LogFormat == "text" || f.LogFormat == "auto" && terminal {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: f.LogLevel, NoColor: !terminal || os.Getenv("NO_COLOR") != ""}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: f.LogLevel}))
}
