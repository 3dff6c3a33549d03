package etcd

import (
	"context"
	"fmt"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

// pageSize is the maximum number of keys in one request. If a response is longer than maxAnswer,
// the pager requests fewer keys.
const pageSize = 64

// List reads all keys at one revision.
func (s *store) List(ctx context.Context, put func(fleet.Entry)) (version string, err error) {
	p := pager{client: s.client, from: s.prefix, end: clientv3.GetPrefixRangeEnd(s.prefix), limit: pageSize}
	err = s.withToken(ctx, func(ctx context.Context) error {
		for more := true; more; {
			page, err := p.next(ctx)
			if err != nil {
				return err
			}
			for _, kv := range page.Kvs {
				put(s.entry(kv))
			}
			more = page.More
		}
		return nil
	})
	return strconv.FormatInt(p.revision, 10), err
}

// pager reads the keys of a range at one revision, page by page. Users with write access choose the
// length of values, but etcd bounds a response only by its number of keys. So the client refuses a
// response longer than maxAnswer as soon as its header arrives. Then the pager requests a smaller
// page.
type pager struct {
	client    clientv3.KV
	from, end string
	revision  int64 // 0: the revision of the first response
	limit     int64 // number of keys in the next page; never increases, as each refused one costs etcd work
}

// next returns the next page of keys. The field More means that further pages follow.
func (p *pager) next(ctx context.Context) (page *clientv3.GetResponse, err error) {
	err = agent.Fit(&p.limit, tooLong, func(limit int64) error {
		page, err = p.get(ctx, limit)
		return err
	})
	if !tooLong(err) {
		return p.take(page), err
	}
	// If even a single value is too long, the pager requests only its key. A value can be longer
	// than etcd allows by default.
	if page, err = p.get(ctx, 1, clientv3.WithKeysOnly()); tooLong(err) {
		return nil, fmt.Errorf("a key is longer than %d bytes: remove the one that begins with %.80q", maxAnswer, p.from)
	} else if err != nil {
		return nil, err
	}
	for _, kv := range page.Kvs {
		kv.Value = make([]byte, fleet.MaxRecord+1) // a value that will be refused as too long
	}
	return p.take(page), nil
}

func (p *pager) get(ctx context.Context, limit int64, more ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return p.client.Get(ctx, p.from, append(more, clientv3.WithRange(p.end), clientv3.WithRev(p.revision), clientv3.WithLimit(limit))...)
}

// take advances the pager past the keys of a page, and returns the page.
func (p *pager) take(page *clientv3.GetResponse) *clientv3.GetResponse {
	if page == nil {
		return nil
	}
	if p.revision == 0 {
		p.revision = page.Header.Revision
	}
	if n := len(page.Kvs); n > 0 {
		p.from = string(page.Kvs[n-1].Key) + "\x00"
	}
	return page
}

// tooLong reports whether the client refused a response because of its length.
func tooLong(err error) bool { return status.Code(err) == codes.ResourceExhausted }
