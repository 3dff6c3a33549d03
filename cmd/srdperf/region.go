package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/srdtun/srdtun/srd/ep"
)

// wantRegion is the immediate value of a client's request for a memory region. The server's reply
// contains the key of the region.
const wantRegion = 2

// keyLen is the length of a region's key in bytes.
const keyLen = 8

// grant registers memory for a client, once, and sends the region's key to the client.
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
	_ = s.e.TrySend(h, key, ep.SendOptions{Quiet: true}) // the reply is lost if the client does not receive
	return nil
}

// remotes requests a memory region from each server.
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
