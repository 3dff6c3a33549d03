package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/srdtun/srdtun/fleet/internal/member"
)

const (
	// askFor is how long one request may take: as kubelet's least.
	askFor = 10 * time.Second
	// defaultAnnotation holds the record of a node.
	defaultAnnotation = "srdtun.io/member"
	// perSecond and atOnce bound requests to the API server. There are three for a start,
	// and one when the watch has ended.
	perSecond = 5
	atOnce    = 10
	// maxAnswer bounds what the API server may send at once, in bytes, but for a watch, which
	// sends Nodes one by one: 16 Nodes with all the annotations that they may have (256 KiB),
	// and one of the largest size that etcd takes.
	maxAnswer = 4 << 20
)

// errTooLong is of an answer that has more.
var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// bounded refuses answers that are too long. Whoever may patch Nodes chooses their length, and
// the API server bounds a page by its Nodes only.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := b.RoundTripper.RoundTrip(q)
	if err == nil && q.URL.Query().Get("watch") == "" {
		r.Body = &boundedBody{r.Body, maxAnswer}
	}
	return r, err
}

// boundedBody is what an answer says, up to its bound.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// cluster is where the API server is, and which annotation counts.
type cluster struct {
	kubeconfig string
	annotation string
}

func (c *cluster) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "`file` that names the API server; none: the service account of the pod")
	f.StringVar(&c.annotation, "annotation", defaultAnnotation, "of a Node, which holds its record")
}

// nodes are the Nodes of a cluster, of which only the metadata is fetched: the rest of a Node
// is fifty times as large, and changes all the time.
type nodes struct {
	metadata.Getter
	annotation string
}

// dial makes a client. It does not wait for a connection: the API server may be away.
func (c *cluster) dial() (*nodes, error) {
	if c.annotation == "" {
		return nil, member.Usagef("--annotation is empty")
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "srdtun-k8s/" + version
	config.QPS, config.Burst = perSecond, atOnce
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return bounded{t} })
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newNodes(client, c.annotation), nil
}

func newNodes(client metadata.Interface, annotation string) *nodes {
	return &nodes{client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}), annotation}
}

func (c *cluster) config() (*rest.Config, error) {
	if c.kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", c.kubeconfig)
}

// write gives a node a record, or takes it away (nil). Nothing else of the Node is touched.
func (n *nodes) write(ctx context.Context, name string, record []byte) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var value any // null removes a key: RFC 7386
	if record != nil {
		value = string(record)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{n.annotation: value}}})
	if err != nil {
		return err
	}
	_, err = n.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "srdtun-k8s"})
	return err
}
