package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// Store is where a fleet keeps its records, such as etcd. It says where members are, and not
// who is a member. Its answers are bounded: a writer to the store must not fill an agent's
// memory.
type Store interface {
	// String names the store in a log.
	String() string
	// List passes on each record of one version, and returns that version.
	List(ctx context.Context, put func(fleet.Entry)) (version string, err error)
	// Watch passes on each change after a version. A watch may end (nil); at is then its last
	// version. If the version is too old, errors.Is(err, ErrStale).
	Watch(ctx context.Context, version string, changed func(e fleet.Entry, gone bool)) (at string, err error)
	// Claim keeps the record of this host until ctx ends. The record stays then, so others do
	// not notice a restart. An error means that the store does not answer; the caller tries
	// again.
	Claim(ctx context.Context, c *Claim) error
	// Release removes the record of a name.
	Release(ctx context.Context, name string) (*Released, error)
	Close() error
}

// ErrStale means that the store no longer has the version of a watch.
var ErrStale = errors.New("the version is too old")

// Claim is the record that a host keeps in a store.
type Claim struct {
	Name   string
	Record []byte
	// Spoilt: the store was seen without the record, or with another one.
	Spoilt <-chan struct{}
	// Reached reports that the store answers (nil), or an error. A Store may leave it out: the
	// listing already shows that the store can be read.
	Reached func(error)
	Log     *slog.Logger
}

// Released is a removed record. The agent of its host may put it back.
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

// Cut returns a copy of a value, of at most one byte more than a record may have. A longer
// value is refused, and need not be kept.
func Cut[T ~string | ~[]byte](value T) []byte {
	return []byte(string(value[:min(len(value), fleet.MaxRecord+1)]))
}

// Fit asks for a page of limit entries, and for fewer while the answer is too long. The limit
// stays down, because each refused answer costs the store.
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
