package k8s

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// pageSize is the maximum number of Nodes in one request. If a response is longer than
	// maxAnswer, List requests fewer Nodes. The metadata of a Node has some 5 kB.
	pageSize = 128
	// retryMost bounds the pause after a failed request. It is long, because a thousand agents must
	// not overload an API server that restarts.
	retryMost = 30 * time.Second
)

// List reads all Nodes at one version.
func (n *nodes) List(ctx context.Context, put func(fleet.Entry)) (version string, err error) {
	next, limit := "", int64(pageSize)
	for first := true; first || next != ""; first = false {
		var page *metav1.PartialObjectMetadataList
		err := agent.Fit(&limit, tooLong, func(limit int64) (err error) {
			page, err = n.page(ctx, next, limit)
			return err
		})
		if err != nil {
			return "", stale(err)
		}
		for i := range page.Items {
			if e, is := n.entry(&page.Items[i]); is {
				put(e)
			}
		}
		version, next = page.ResourceVersion, page.Continue
	}
	return version, nil
}

func tooLong(err error) bool { return errors.Is(err, errTooLong) }

func (n *nodes) page(ctx context.Context, next string, limit int64) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return n.Getter.List(ctx, metav1.ListOptions{Limit: limit, Continue: next})
}

// Watch reports changes of Nodes after a version, until the watch ends. The API server regularly
// ends each watch.
func (n *nodes) Watch(ctx context.Context, version string, changed func(fleet.Entry, bool)) (string, error) {
	news, err := n.Getter.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return version, stale(err)
	}
	defer news.Stop()
	for {
		select {
		case <-ctx.Done():
			return version, nil
		case e, ok := <-news.ResultChan():
			if !ok {
				return version, nil
			}
			if version, err = n.tell(e, changed); err != nil {
				return version, stale(err)
			}
		}
	}
}

// tell reports a change, and returns its version.
func (n *nodes) tell(e watch.Event, changed func(fleet.Entry, bool)) (version string, err error) {
	if e.Type == watch.Error {
		return "", apierrors.FromObject(e.Object)
	}
	node, ok := e.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return "", fmt.Errorf("the watch brought %T", e.Object)
	}
	if e.Type != watch.Bookmark {
		entry, is := n.entry(node)
		changed(entry, e.Type == watch.Deleted || !is)
	}
	return node.ResourceVersion, nil
}

// entry returns the record of a Node, if the Node has one.
func (n *nodes) entry(node *metav1.PartialObjectMetadata) (e fleet.Entry, is bool) {
	value, is := node.Annotations[n.annotation]
	return fleet.Entry{Name: memberName(node.Name), Value: agent.Cut(value), Born: uint64(max(0, node.CreationTimestamp.Unix()))}, is
}

// stale converts an error about an old version into ErrStale.
func stale(err error) error {
	if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
		return fmt.Errorf("%w: %w", agent.ErrStale, err)
	}
	return err
}
