package main

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/srdtun/srdtun/fleet"
)

// pager goes through the keys of a range as they were at one revision. Whoever may write to
// etcd chooses how long values are, and etcd bounds an answer by keys only, so an answer that
// is longer than maxAnswer is refused when its length is known, and asked for in smaller parts.
type pager struct {
	client    clientv3.KV
	from, end string
	revision  int64 // 0: that of the first answer
	limit     int64 // keys in the next answer; it only goes down, as each that is refused costs etcd
}

// next returns the next keys; their More is that there are others behind them.
func (p *pager) next(ctx context.Context) (*clientv3.GetResponse, error) {
	for {
		page, err := p.get(ctx, p.limit)
		switch {
		case err == nil:
			return p.take(page), nil
		case !tooLong(err):
			return nil, err
		case p.limit > 1:
			p.limit /= 2
			continue
		}
		// One value alone is longer than etcd takes as a rule. Its key will do.
		if page, err = p.get(ctx, 1, clientv3.WithKeysOnly()); tooLong(err) {
			return nil, fmt.Errorf("a key is longer than %d bytes: remove what begins with %.80q", maxAnswer, p.from)
		} else if err != nil {
			return nil, err
		}
		for _, kv := range page.Kvs {
			kv.Value = make([]byte, fleet.MaxRecord+1) // refused as too long
		}
		return p.take(page), nil
	}
}

func (p *pager) get(ctx context.Context, limit int64, more ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return p.client.Get(ctx, p.from, append(more, clientv3.WithRange(p.end), clientv3.WithRev(p.revision), clientv3.WithLimit(limit))...)
}

// take goes on behind the keys of a page.
func (p *pager) take(page *clientv3.GetResponse) *clientv3.GetResponse {
	if p.revision == 0 {
		p.revision = page.Header.Revision
	}
	if n := len(page.Kvs); n > 0 {
		p.from = string(page.Kvs[n-1].Key) + "\x00"
	}
	return page
}

// tooLong reports whether an answer was refused for its length.
func tooLong(err error) bool { return status.Code(err) == codes.ResourceExhausted }
