package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// pageSize is how many keys are asked for at once, at most: an answer is bounded in bytes
	// (maxAnswer), and where it has more, fewer keys are asked for.
	pageSize = 64
	// relistPause is how long to wait after a listing or a watch has failed.
	relistPause = 500 * time.Millisecond
)

// watcher tells an agent what is below the prefix.
type watcher struct {
	*login
	prefix string
	events chan<- agent.Event
	again  <-chan struct{} // asks for a listing
	log    *slog.Logger

	own      string // this host's key, and what it is to be
	record   []byte
	tampered chan<- struct{}
}

// run lists and watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		with, err := w.with(ctx)
		if err == nil {
			err = w.once(with)
			w.look(with, err)
		}
		if err != nil && ctx.Err() == nil && err.Error() != said {
			w.log.Warn("etcd: " + err.Error())
		}
		if err != nil {
			said = err.Error()
		}
		select {
		case <-ctx.Done():
		case <-time.After(relistPause):
		}
	}
}

// once lists, and watches until that fails or somebody asks for another listing (nil).
func (w *watcher) once(ctx context.Context) error {
	revision, err := w.list(ctx)
	if err != nil {
		return err
	}
	// A member of etcd's that has lost the others must say so, rather than nothing.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	news := w.client.Watch(ctx, w.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1), clientv3.WithFragment())
	for {
		select {
		case <-w.again:
			return nil
		case n, ok := <-news:
			if !ok {
				return errors.New("the watch has ended")
			}
			if err := n.Err(); err != nil {
				return err
			}
			for _, e := range n.Events {
				if !w.tell(ctx, e) {
					return nil
				}
			}
		}
	}
}

// list goes through all keys as they were at one revision, and returns that.
func (w *watcher) list(ctx context.Context) (revision int64, err error) {
	if !w.send(ctx, agent.Event{Kind: agent.List}) {
		return 0, ctx.Err()
	}
	p := pager{client: w.client, from: w.prefix, end: clientv3.GetPrefixRangeEnd(w.prefix), limit: pageSize}
	for {
		page, err := p.next(ctx)
		if err != nil {
			return 0, err
		}
		revision = p.revision
		for _, kv := range page.Kvs {
			if !w.put(ctx, kv) {
				return 0, ctx.Err()
			}
		}
		if !page.More {
			break
		}
	}
	if !w.send(ctx, agent.Event{Kind: agent.Listed}) {
		return 0, ctx.Err()
	}
	return revision, nil
}

// tell passes a change on; false: ctx has ended.
func (w *watcher) tell(ctx context.Context, e *clientv3.Event) bool {
	if e.Type == mvccpb.DELETE {
		w.compare(e.Kv)
		return w.send(ctx, agent.Event{Kind: agent.Gone, Entry: fleet.Entry{Name: w.name(e.Kv)}})
	}
	return w.put(ctx, e.Kv)
}

// put passes a key on. What is too long for a record is refused in any case, and not kept: the
// value is part of all that etcd sent at once, so what is needed of it is copied.
func (w *watcher) put(ctx context.Context, kv *mvccpb.KeyValue) bool {
	w.compare(kv)
	return w.send(ctx, agent.Event{Kind: agent.Put, Entry: fleet.Entry{
		Name:  w.name(kv),
		Value: bytes.Clone(kv.Value[:min(len(kv.Value), fleet.MaxRecord+1)]),
		Born:  uint64(kv.CreateRevision),
	}})
}

// maxKey is how much of a key is kept, in bytes: more than any member's name has.
const maxKey = 128

// name is the member that a key is of.
func (w *watcher) name(kv *mvccpb.KeyValue) string {
	key := kv.Key[:min(len(kv.Key), len(w.prefix)+maxKey)]
	return strings.TrimPrefix(string(key), w.prefix)
}

// compare says when this host's record is not as it put it.
func (w *watcher) compare(kv *mvccpb.KeyValue) {
	if w.tampered == nil || string(kv.Key) != w.own || bytes.Equal(kv.Value, w.record) {
		return
	}
	select {
	case w.tampered <- struct{}{}:
	default: // it is going to be put back
	}
}

func (w *watcher) send(ctx context.Context, e agent.Event) bool {
	select {
	case w.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}
