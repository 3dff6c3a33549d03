package member

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/internal/logline"
)

// Log is the log of an agent, in the same formats as the daemon's log.
type Log struct{ format string }

// Flags adds the flags of the log.
func (l *Log) Flags(c *cobra.Command) {
	c.Flags().StringVar(&l.format, "log", "", logline.Usage)
}

// Open returns a logger that writes to standard error.
func (l *Log) Open() (*slog.Logger, error) {
	format, err := logline.Format(l.format)
	if err != nil {
		return nil, usageError{err}
	}
	return slog.New(logline.New(os.Stderr, format)), nil
}
