// Package etcd implements a fleet's store in etcd. Each member has a key in etcd, under a lease
// that the member's agent renews.
package etcd

import (
	"context"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

// retryMost bounds the pause after a failed listing. The client library has the same maximum
// pause.
const retryMost = time.Second

// Program describes the command srdtun-etcd.
func Program(version string) *member.Program {
	var c connection
	return &member.Program{
		Name: "srdtun-etcd", Version: version, Short: "Members of a fleet, through etcd",
		Long: `srdtun-etcd writes the members of a fleet in etcd into the drop-in directory of
an srdtun daemon, as peers. It writes only members that the operator's policy
admits: by an allow list of public keys, or by grants that the fleet's key signed.`,
		Argument: "NAME",
		Join: `join puts the record of this host into etcd under NAME, and keeps the files
of the other members in the daemon's directory of drop-in peers.

The record is made of the host's grant (--grant), or of its line in the allow
list. If join is stopped, the host stays a member until its lease ends, so
the others do not notice a restart.`,
		Members: "List the records in etcd, and whether the policy admits each",
		Leave: `leave removes the record of a member, without waiting for its lease. Stop its
agent first: one that runs puts its record back, and leave fails. It waits some
seconds, to be sure that no agent runs.`,
		Flags: c.flags, JoinFlags: c.joinFlags, Dial: c.dial,
		RetryMost: retryMost, Exclusive: true,
	}
}

// store implements a fleet's store in etcd.
type store struct {
	login
	prefix string
	lease  time.Duration
	mend   mending
}

func (s *store) String() string { return "etcd" }

func (s *store) Close() error { return s.client.Close() }

// withToken calls requests() with a context that has a token. If etcd no longer accepts the token,
// withToken drops it.
func (s *store) withToken(ctx context.Context, requests func(context.Context) error) error {
	with, err := s.with(ctx)
	if err == nil {
		err = requests(with)
		s.look(with, err)
	}
	return err
}

// entry returns the entry of a key, with a copy of the value. The original value is part of a whole
// response from etcd. Because of the copy, the memory of the response can be freed.
func (s *store) entry(kv *mvccpb.KeyValue) fleet.Entry {
	return fleet.Entry{Name: s.name(kv), Value: agent.Cut(kv.Value), Born: uint64(kv.CreateRevision)}
}

// maxKey bounds the length of the stored name of a key in bytes. Valid names of members are
// shorter.
const maxKey = 128

// name returns the member to which a key belongs.
func (s *store) name(kv *mvccpb.KeyValue) string {
	key := kv.Key[:min(len(kv.Key), len(s.prefix)+maxKey)]
	return strings.TrimPrefix(string(key), s.prefix)
}
