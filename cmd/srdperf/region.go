package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/srdtun/srdtun/srd/ep"
)

// wantRegion is the immediate of a message that asks for the client's region. The answer has
// the region's key.
const wantRegion = 2

// keyLen is the length of a region's key.
const keyLen = 8

// grant registers memory for a client, once, and tells it the key.
func (s *server) grant(h *ep.Handle) error {
	r := s.regions[h.Key()]
	if r == nil {
		var err error
		if r, err = s.e.Register(h.Key(), make([]byte, s.size), ep.AccessRead|ep.AccessWrite); err != nil {
			return err
		}
		s.regions[h.Key()] = r
	}
	key := binary.BigEndian.AppendUint64(nil, r.Remote(0).Key)
	_ = s.e.TrySend(h, key, ep.SendOptions{Quiet: true}) // a client that takes no answers asks in vain
	return nil
}

// remotes asks the servers for regions.
func remotes(ctx context.Context, s sender) (v []ep.Remote, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, h := range s.to {
		if err := s.e.PostReceive(make([]byte, keyLen), 0); err != nil {
			return nil, err
		}
		if err := s.e.Confirm(ctx, h, nil, ep.SendOptions{Immediate: wantRegion, HasImmediate: true}); err != nil {
			return nil, explain(err, h.Key(), 0)
		}
		var c [1]ep.Completion
		if _, err := s.e.Receives().Wait(ctx, c[:]); err != nil {
			return nil, fmt.Errorf("%v gives no region: %w", h.Key(), err)
		}
		if len(c[0].Data) != keyLen {
			return nil, fmt.Errorf("%v gives no region: it is another version of srdperf", h.Key())
		}
		v = append(v, ep.Remote{Key: binary.BigEndian.Uint64(c[0].Data)})
	}
	return v, nil
}
