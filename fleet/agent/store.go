package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// Store is where a fleet keeps its records, such as etcd. It tells where members are, but does
// not decide who is a member. Its answers are bounded, because a writer to the store must not
// exhaust an agent's memory.
type Store interface {
	// String returns the name of the store for a log.
	String() string
	// List passes on each record of one version of the store, and returns that version.
	List(ctx context.Context, put func(fleet.Entry)) (version string, err error)
	// Watch passes on each change after a version. A watch may end without an error; at is
	// then its last version. If the version is too old, Watch returns an error for which
	// errors.Is(err, ErrStale) is true.
	Watch(ctx context.Context, version string, changed func(e fleet.Entry, gone bool)) (at string, err error)
	// Claim keeps the record of this host until ctx ends. After that the record stays, so
	// other members do not notice a restart. An error means that the store does not answer;
	// the caller then tries again.
	Claim(ctx context.Context, c *Claim) error
	// Release removes the record of a name.
	Release(ctx context.Context, name string) (*Released, error)
	Close() error
}

// ErrStale means that the store no longer has the version from which to watch.
var ErrStale = errors.New("the version is too old")

// Claim is the record that a host keeps in a store.
type Claim struct {
	Name   string
	Record []byte
	// Spoilt reports that the store was seen without the record, or with another one.
	Spoilt <-chan struct{}
	// A Store calls Reached with nil when it answers, and with the error when it does not. A
	// Store need not call Reached, because a listing also shows that the store can be read.
	Reached func(error)
	Log     *slog.Logger
}

// Released is a removed record. The agent of its host may restore it.
type Released struct {
	// Wait is how long the agent may take to show itself.
	Wait time.Duration
	// Sign looks for a sign of that agent: it returns PutBack, Renews, or "".
	Sign func(context.Context) (string, error)
}

// These are signs of an agent whose record was removed.
const (
	PutBack = "has put the record back"
	Renews  = "puts the record back"
)

// Cut returns a copy of a value, with at most one byte more than a record may have. A longer
// value is refused anyway, and need not be kept.
func Cut[T ~string | ~[]byte](value T) []byte {
	return []byte(string(value[:min(len(value), fleet.MaxRecord+1)]))
}

// Fit requests a page of limit entries, and fewer entries while the answer is too long. The
// limit stays reduced, because each refused answer is a cost for the store.
func Fit(limit *int64, tooLong func(error) bool, ask func(limit int64) error) error {
	for {
		err := ask(*limit)
		if err == nil || *limit <= 1 || !tooLong(err) {
			return err
		}
		*limit /= 2
	}
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
