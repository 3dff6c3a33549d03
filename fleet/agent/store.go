package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// Store is where a fleet keeps its records, such as etcd. It says where members are, and not
// who is one, so its answers are bounded: who can write to it must not fill an agent's memory.
type Store interface {
	// String names the store in a log.
	String() string
	// List passes on each record as it was at one version, and returns that version.
	List(ctx context.Context, put func(fleet.Entry)) (version string, err error)
	// Watch passes on each change after a version. It returns the version it came to when the
	// watch ended (nil), which happens, or with an error: errors.Is(err, ErrStale) if the
	// version is too old.
	Watch(ctx context.Context, version string, changed func(e fleet.Entry, gone bool)) (at string, err error)
	// Claim keeps the record of this host until ctx ends. The record stays then: others do
	// not see a restart. An error says that the store does not answer; it is tried again.
	Claim(ctx context.Context, c *Claim) error
	// Release removes the record of a name.
	Release(ctx context.Context, name string) (*Released, error)
	Close() error
}

// ErrStale is of a watch whose version the store does not have any more.
var ErrStale = errors.New("the version is too old")

// Claim is the record that a host keeps in a store.
type Claim struct {
	Name   string
	Record []byte
	// Spoilt: the store was seen without the record, or with another one.
	Spoilt <-chan struct{}
	// Reached tells that the store answers (nil), or why not. Others may do without: that it
	// can be read is known.
	Reached func(error)
	Log     *slog.Logger
}

// Released is a record that was removed, and that the agent of its host may put back.
type Released struct {
	// Wait is how long an agent may be silent.
	Wait time.Duration
	// Sign looks for a sign of that agent: PutBack, Renews, or "".
	Sign func(context.Context) (string, error)
}

// Signs of an agent whose record was removed.
const (
	PutBack = "has put the record back"
	Renews  = "puts the record back"
)

// Cut returns a copy of a value, up to a byte more than a record may have: a longer one is
// refused, and need not be kept.
func Cut[T ~string | ~[]byte](value T) []byte {
	return []byte(string(value[:min(len(value), fleet.MaxRecord+1)]))
}

// Fit asks for a page of limit entries, and for fewer while the answer is too long. limit
// stays down: each answer that is refused costs the store.
func Fit(limit *int64, tooLong func(error) bool, ask func(limit int64) error) error {
	for {
		err := ask(*limit)
		if err == nil || *limit <= 1 || !tooLong(err) {
			return err
		}
		*limit /= 2
	}
}

// Sleep waits, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
