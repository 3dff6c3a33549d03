package etcd

import (
	"bytes"
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// defaultLease is the lifetime of a member's lease in etcd, without a renewal. The agent renews
	// the lease three times in this period. etcd checks for expired leases twice a second.
	defaultLease = 8 * time.Second
	// maxLease bounds the configured lease, so that a failed member is removed within 10 s.
	maxLease = 10 * time.Second
	// minLease is the shortest configurable lease. It is above etcd's own minimum, which is 2 s
	// with the usual election timeout.
	minLease = 3 * time.Second
	// Before the agent restores a record that another program has changed, it waits. The wait
	// starts at mendFirst and doubles up to mendMost, so that two programs that undo each other's
	// changes do not keep etcd busy. mendFirst is shorter than the time for which other members
	// keep the member (fleet.Linger).
	mendFirst = 20 * time.Millisecond
	mendMost  = 30 * time.Second
)

// errSilent means that etcd does not respond.
var errSilent = errors.New("it does not answer")

// mending limits the rate at which the agent restores its record.
type mending struct {
	pause time.Duration // wait before the next restoration
	last  time.Time
}

// Claim maintains the record in etcd until ctx ends. Afterwards the record remains until its lease
// expires, so that a restarted process remains a member.
func (s *store) Claim(ctx context.Context, c *agent.Claim) error {
	return s.withToken(ctx, func(ctx context.Context) error { return s.hold(ctx, c) })
}

// hold gets a lease, writes the record under the lease, and renews the lease on a single stream,
// because with a password each new stream costs etcd as much as a login. It returns when the lease
// is lost.
func (s *store) hold(ctx context.Context, c *agent.Claim) error {
	id, err := s.grant(ctx, c)
	if err != nil {
		return err
	}
	c.Reached(nil)
	alive, err := s.client.KeepAlive(ctx, id) // renews it three times in the lease's lifetime
	if err != nil {
		return err
	}
	silent := time.NewTimer(s.lease * 2 / 3)
	defer silent.Stop()
	for {
		select {
		case _, ok := <-alive:
			if !ok {
				return errSilent
			}
			silent.Reset(s.lease * 2 / 3)
			c.Reached(nil)
		case <-silent.C:
			c.Reached(errSilent)
		case <-c.Spoilt:
			if err := s.restore(ctx, c, id); err != nil {
				return err
			}
		}
	}
}

// grant writes the record under a new lease. The new record replaces an older one atomically, so
// other members never see a state without a record.
func (s *store) grant(ctx context.Context, c *agent.Claim) (clientv3.LeaseID, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	lease, err := s.client.Grant(ctx, int64(s.lease/time.Second))
	if err != nil {
		return 0, err
	}
	select {
	case <-c.Spoilt: // the change was before this write, which repairs it
	default:
	}
	_, err = s.client.Put(ctx, s.prefix+c.Name, string(c.Record), clientv3.WithLease(lease.ID))
	return lease.ID, err
}

// restore writes the record again after another program has changed it. Any user with write access
// to etcd can do that, and so does a second host with the same name.
func (s *store) restore(ctx context.Context, c *agent.Claim, id clientv3.LeaseID) error {
	m := &s.mend
	if time.Since(m.last) > mendMost {
		m.pause = mendFirst
	}
	agent.Sleep(ctx, m.pause)
	m.pause, m.last = min(2*m.pause, mendMost), time.Now()
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if got, err := s.client.Get(ctx, s.prefix+c.Name); err == nil && len(got.Kvs) == 1 && bytes.Equal(got.Kvs[0].Value, c.Record) && got.Kvs[0].Lease == int64(id) {
		return nil
	}
	c.Log.Warn("another client changed or removed this host's record; it is put back")
	_, err := s.client.Put(ctx, s.prefix+c.Name, string(c.Record), clientv3.WithLease(id))
	return err
}
