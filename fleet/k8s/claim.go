package k8s

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// mendEvery is the pause between two corrections of the host's own record, so that two programs
	// that undo each other's changes do not keep the API server busy.
	mendEvery = 5 * time.Second
	// leaveFor is the longest time in which a running agent restores its record, plus a margin.
	leaveFor = mendEvery + 2*time.Second
)

// Claim writes the record whenever the Node lacks it. A failed write does not mean that the API
// server is unreachable for reading.
func (n *nodes) Claim(ctx context.Context, c *agent.Claim) error {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Spoilt:
		}
		for ctx.Err() == nil {
			err := n.write(ctx, c.Name, c.Record)
			if err == nil {
				c.Log.Info("this host's record is written", "node", nodeName(c.Name))
				said = ""
				break
			}
			if err.Error() != said && ctx.Err() == nil {
				said = err.Error()
				c.Log.Warn("this host's record was not written: " + said)
			}
			agent.Sleep(ctx, mendEvery)
		}
		agent.Sleep(ctx, mendEvery)
	}
}

// Release removes the record of a member from its Node.
func (n *nodes) Release(ctx context.Context, name string) (*agent.Released, error) {
	is := nodeName(name)
	sign := func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		// Release lists a single Node, because an agent's role permits the verb list but not get.
		page, err := n.Getter.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + is})
		if err != nil {
			return "", err
		}
		for _, node := range page.Items {
			if node.Name == is && node.Annotations[n.annotation] != "" {
				return agent.PutBack, nil
			}
		}
		return "", nil
	}
	return &agent.Released{Wait: n.settle, Sign: sign}, n.write(ctx, name, nil)
}

// write sets the record of a member's Node, or removes it if `record` is nil. The rest of the
// Node stays unchanged.
func (n *nodes) write(ctx context.Context, name string, record []byte) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var value any // null removes a key (RFC 7386)
	if record != nil {
		value = string(record)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{n.annotation: value}}})
	if err != nil {
		return err
	}
	_, err = n.Patch(ctx, nodeName(name), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "srdtun-k8s"})
	return err
}
