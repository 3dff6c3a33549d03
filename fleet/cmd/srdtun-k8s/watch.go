package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// pageSize is how many Nodes are asked for at once, at most: an answer is bounded in bytes
	// (maxAnswer), and where it has more, fewer are asked for. The metadata of one is some 5 kB.
	pageSize = 128
	// retryFirst is how long to wait after the API server was not reached, which doubles up to
	// retryMost: a thousand agents must not hold one down that comes up.
	retryFirst = 500 * time.Millisecond
	retryMost  = 30 * time.Second
	// mendEvery is the pause between two corrections of the own record: two programs that
	// disagree must not keep the API server busy.
	mendEvery = 5 * time.Second
)

// watcher tells an agent what the Nodes say, and sees that the own one says what it should.
type watcher struct {
	*nodes
	events chan<- agent.Event
	again  <-chan struct{} // asks for a listing
	log    *slog.Logger

	own    string // this host's Node, and its record; "": none
	record []byte
	wrong  bool      // the own Node says something else
	mended time.Time // when it was written last

	there bool   // the API server, as it was told to the agent
	said  string // the last fault
}

// run lists and watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	pause := retryFirst
	for ctx.Err() == nil {
		err := w.once(ctx)
		if err == nil || w.there {
			pause = retryFirst
		}
		w.reached(ctx, err)
		if err != nil {
			sleep(ctx, pause)
			pause = min(2*pause, retryMost)
		}
	}
}

// once lists, and watches until that fails or somebody asks for another listing (nil).
func (w *watcher) once(ctx context.Context) error {
	version, err := w.list(ctx)
	for err == nil && ctx.Err() == nil {
		if err := w.mend(ctx); err != nil {
			return err
		}
		var relist bool
		if version, relist, err = w.follow(ctx, version); relist {
			return nil
		}
	}
	return err
}

// list goes through all Nodes as they were at one version, and returns that.
func (w *watcher) list(ctx context.Context) (version string, err error) {
	w.wrong = w.own != ""
	next, limit := "", int64(pageSize)
	for first := true; first || next != ""; first = false {
		page, err := w.page(ctx, next, limit)
		for errors.Is(err, errTooLong) && limit > 1 {
			limit /= 2
			page, err = w.page(ctx, next, limit)
		}
		if err != nil {
			return "", err
		}
		if first {
			w.reached(ctx, nil)
			w.send(ctx, agent.Event{Kind: agent.List})
		}
		for i := range page.Items {
			w.put(ctx, &page.Items[i], false)
		}
		version, next = page.ResourceVersion, page.Continue
	}
	w.send(ctx, agent.Event{Kind: agent.Listed})
	return version, ctx.Err()
}

func (w *watcher) page(ctx context.Context, next string, limit int64) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return w.List(ctx, metav1.ListOptions{Limit: limit, Continue: next})
}

// follow watches from a version on, until the watch ends, as the API server has it end now and
// then, and returns up to where.
func (w *watcher) follow(ctx context.Context, version string) (at string, relist bool, err error) {
	news, err := w.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return version, false, err
	}
	defer news.Stop()
	tick := time.NewTicker(mendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return version, false, nil
		case <-w.again:
			return version, true, nil
		case <-tick.C:
			if err := w.mend(ctx); err != nil {
				return version, false, err
			}
		case e, ok := <-news.ResultChan():
			if !ok {
				return version, false, nil
			}
			if version, err = w.tell(ctx, e); err != nil {
				return version, false, err
			}
		}
	}
}

// tell passes a change on, and returns its version.
func (w *watcher) tell(ctx context.Context, e watch.Event) (version string, err error) {
	if e.Type == watch.Error {
		return "", apierrors.FromObject(e.Object)
	}
	node, ok := e.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return "", fmt.Errorf("the watch brought %T", e.Object)
	}
	if e.Type != watch.Bookmark {
		w.put(ctx, node, e.Type == watch.Deleted)
	}
	return node.ResourceVersion, nil
}

// put passes what a Node says on. What is too long for a record is refused in any case, and
// not kept.
func (w *watcher) put(ctx context.Context, node *metav1.PartialObjectMetadata, gone bool) {
	value, is := node.Annotations[w.annotation]
	if node.Name == w.own {
		w.wrong = gone || !is || !bytes.Equal([]byte(value), w.record)
	}
	if gone || !is {
		w.send(ctx, agent.Event{Kind: agent.Gone, Entry: fleet.Entry{Name: node.Name}})
		return
	}
	w.send(ctx, agent.Event{Kind: agent.Put, Entry: fleet.Entry{
		Name:  node.Name,
		Value: []byte(value[:min(len(value), fleet.MaxRecord+1)]),
		Born:  uint64(max(0, node.CreationTimestamp.Unix())),
	}})
}

// mend writes the own record when the Node says something else.
func (w *watcher) mend(ctx context.Context) error {
	if !w.wrong || time.Since(w.mended) < mendEvery {
		return nil
	}
	err := w.write(ctx, w.own, w.record)
	if err != nil {
		return fmt.Errorf("the own record was not written: %w", err)
	}
	w.wrong, w.mended = false, time.Now()
	w.log.Info("the own record is written", "node", w.own)
	return nil
}

// reached tells the agent when the API server is lost and found, and says each fault once.
func (w *watcher) reached(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		if !w.there {
			w.there = true
			w.send(ctx, agent.Event{Kind: agent.Found})
		}
		return
	}
	// A version that is too old is no fault: the list is read anew.
	if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
		return
	}
	if w.there {
		w.there = false
		w.send(ctx, agent.Event{Kind: agent.Lost})
	}
	if text := err.Error(); text != w.said && !errors.Is(err, context.Canceled) {
		w.said = text
		w.log.Warn("kubernetes: " + text)
	}
}

func (w *watcher) send(ctx context.Context, e agent.Event) {
	select {
	case w.events <- e:
	case <-ctx.Done():
	}
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
