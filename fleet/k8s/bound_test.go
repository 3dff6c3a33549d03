package k8s

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

const (
	// hostileNodes is the number of Nodes that an attacker writes with a stolen token, each with
	// hostileBytes of annotations.
	hostileNodes = 500
	hostileBytes = 256 << 10
	// maxHeap bounds the agent's heap in bytes while it lists them. It is half of the container's
	// memory.
	maxHeap = 64 << 20
)

// hostileServer returns a server with Nodes of the largest size that an API server accepts, and one
// valid Node.
func hostileServer(t *testing.T) (s *httptest.Server, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	value := strings.Repeat("x", hostileBytes)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		limit, _ := strconv.Atoi(q.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(q.URL.Query().Get("continue"))
		next := ""
		if from+limit < hostileNodes {
			next = strconv.Itoa(from + limit)
		}
		w.Header().Set("Content-Type", "application/json")
		// The response is written in pieces, so that the server's memory does not affect the
		// measurement.
		fmt.Fprintf(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1","continue":%q},"items":[`, next)
		for i := from; i < min(from+limit, hostileNodes); i++ {
			if i > from {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"metadata":{"name":"h%d","annotations":{%q:"`, i, defaultAnnotation)
			fmt.Fprint(w, value)
			fmt.Fprint(w, `"}}}`)
		}
		fmt.Fprint(w, "]}")
	}))
	t.Cleanup(s.Close)
	return s, asked
}

// Nodes with full annotations arrive in pages whose size in bytes is bounded. So the agent stays
// within its container's memory.
func TestAgentStaysSmall(t *testing.T) {
	s, asked := hostileServer(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: x, context: {cluster: c}}]
current-context: x
`, s.URL), 0o600))
	nodes, err := (&cluster{kubeconfig: file, annotation: defaultAnnotation}).dial()
	must(t, err)
	done := make(chan error, 1)
	refused, peak := 0, uint64(0)
	go func() {
		_, err := nodes.List(t.Context(), func(fleet.Entry) { refused++ })
		done <- err
	}()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for listing := true; listing; {
		select {
		case <-look.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		case err = <-done:
			listing = false
		}
	}
	if err != nil || refused != hostileNodes {
		t.Errorf("%d of %d Nodes were listed: %v", refused, hostileNodes, err)
	}
	t.Logf("%d requests, %d MiB of heap at most, with the server of the test", asked.Load(), peak>>20)
	if peak > maxHeap {
		t.Errorf("%d MiB of heap, want at most %d", peak>>20, maxHeap>>20)
	}
}
