// Package k8s implements a fleet's store in a Kubernetes cluster, as an annotation on each Node.
package k8s

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

const (
	// askFor bounds the time of one request. It is the same as kubelet's minimum timeout.
	askFor = 10 * time.Second
	// defaultAnnotation is the annotation that contains a node's record.
	defaultAnnotation = "srdtun.io/member"
	// perSecond and atOnce limit the rate of requests to the API server. The start of an agent
	// makes three requests, and the end of a watch makes one.
	perSecond = 5
	atOnce    = 10
	// maxAnswer bounds the size of a response from the API server in bytes. It is large enough for
	// 16 Nodes with full annotations of 256 KiB each, or for the largest Node that etcd accepts. A
	// watch has no such bound, because the API server sends its Nodes one by one.
	maxAnswer = 4 << 20
)

// errTooLong means that a response exceeds maxAnswer.
var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// bounded refuses responses longer than maxAnswer. A user who may patch Nodes chooses their size,
// but the API server bounds a page only by its number of Nodes.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := b.RoundTripper.RoundTrip(q)
	if err == nil && q.URL.Query().Get("watch") == "" {
		r.Body = &boundedBody{r.Body, maxAnswer}
	}
	return r, err
}

// boundedBody reads the body of a response, up to maxAnswer bytes.
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

// Program describes the command srdtun-k8s.
func Program(version string) *member.Program {
	c := cluster{version: version}
	return &member.Program{
		Name: "srdtun-k8s", Version: version, Short: "Members of a fleet, through Kubernetes",
		Long: `srdtun-k8s writes the members of a fleet, from annotations of the cluster's Nodes,
into the drop-in directory of an srdtun daemon, as peers. It writes only members that
the operator's policy admits: by an allow list of public keys, or by grants that the
fleet's key signed.`,
		Argument: "NODE",
		Join: `join writes the record of this host into an annotation of the Node NODE, and
keeps the files of the other members in the daemon's directory of drop-in peers.

The record is made of the host's grant (--grant), or of its line in the allow
list, under the Node's name. It stays when join is stopped, so the others do
not notice a restart. A deleted Node is no member any more. A Node whose
name is an IP address is the member node_ADDRESS, as node_10.0.0.5.`,
		Members: "List the records of the Nodes, and whether the policy admits each",
		Leave: `leave removes the record of a Node. Stop its agent first: one that runs puts its
record back, and leave fails. It waits some seconds for that.`,
		Flags: c.flags, Dial: c.dial, RetryMost: retryMost, Member: memberName,
	}
}

// cluster holds the address of the API server, and the name of the annotation.
type cluster struct {
	kubeconfig string
	annotation string
	version    string // of this program
}

func (c *cluster) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "`file` that names the API server; none: the service account of the pod")
	f.StringVar(&c.annotation, "annotation", defaultAnnotation, "of a Node, which holds its record")
}

// nodes accesses the Nodes of a cluster. Requests fetch only the metadata, because the rest of a
// Node is fifty times as large, and changes all the time.
type nodes struct {
	metadata.Getter
	annotation string
	settle     time.Duration // how long an agent may take to restore its record
}

func (n *nodes) String() string { return "the API server" }

func (n *nodes) Close() error { return nil }

// dial creates a client of the API server. dial() does not wait for a connection, because the
// API server may be down.
func (c *cluster) dial() (agent.Store, error) {
	if c.annotation == "" {
		return nil, member.Usagef("--annotation is empty")
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "srdtun-k8s/" + c.version
	config.QPS, config.Burst = perSecond, atOnce
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return bounded{t} })
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newNodes(client, c.annotation), nil
}

func newNodes(client metadata.Interface, annotation string) *nodes {
	return &nodes{client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}), annotation, leaveFor}
}

func (c *cluster) config() (*rest.Config, error) {
	if c.kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", c.kubeconfig)
}
