package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// Store is the database in which a fleet keeps its records, such as etcd. A Store delivers the
// records of members, but does not decide about membership. An implementation must bound the size
// of responses, because a user with write access must not exhaust an agent's memory.
type Store interface {
	// String returns the name of the store for log lines.
	String() string
	// List calls the function put() with each record, all at one version of the store, and returns
	// that version.
	List(ctx context.Context, put func(fleet.Entry)) (version string, err error)
	// Watch calls the function changed() with each change after a version. If a watch ends without
	// an error, the result `at` is the last version that it has reported. If the version is too
	// old, Watch returns an error that matches ErrStale.
	Watch(ctx context.Context, version string, changed func(e fleet.Entry, gone bool)) (at string, err error)
	// Claim maintains the record of this host until ctx ends. The record remains after Claim, so
	// that other members do not notice a restart. An error means that the store does not respond.
	// The caller then calls Claim again.
	Claim(ctx context.Context, c *Claim) error
	// Release removes the record of the member with this name.
	Release(ctx context.Context, name string) (*Released, error)
	Close() error
}

// ErrStale means that the store no longer has the version from which a watch should start.
var ErrStale = errors.New("the version is too old")

// Claim is the record that a host maintains in a store.
type Claim struct {
	Name   string
	Record []byte
	// Spoilt receives a value if the store lacks the record, or has a different one.
	Spoilt <-chan struct{}
	// A Store calls Reached with nil when it is reachable, and with an error when it is not. The
	// calls are optional, because a successful listing also shows that the store is reachable.
	Reached func(error)
	Log     *slog.Logger
}

// Released is a record that Release has removed. If an agent still runs on the member's host, it
// may restore the record.
type Released struct {
	// Wait is the time within which a running agent restores the record or renews its lease.
	Wait time.Duration
	// Sign returns the sign that the agent of the removed record still runs, PutBack or Renews, or
	// "" if there is none.
	Sign func(context.Context) (string, error)
}

// These constants are signs that an agent whose record was removed still runs.
const (
	PutBack = "has put the record back"
	Renews  = "puts the record back"
)

// Cut returns a copy of a value, cut to one byte more than a record may have. A longer value is
// refused anyway, so the rest is not needed.
func Cut[T ~string | ~[]byte](value T) []byte {
	return []byte(string(value[:min(len(value), fleet.MaxRecord+1)]))
}

// Fit calls ask() to request a page of `limit` entries, and halves the limit while the response is
// too long. The limit remains reduced, because every refused response costs the store work.
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
