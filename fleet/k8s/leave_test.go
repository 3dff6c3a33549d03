package k8s

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/fleet/agent"
)

// While the agent runs, Leave fails with the reason. Without an agent it removes the record.
func TestLeaveWhileTheAgentRuns(t *testing.T) {
	a := newAPI(t)
	r := start(t, a)
	r.await("announced", func() bool { return a.node(t, "n1").Annotations[defaultAnnotation] != "" })
	w := <-a.watching
	done := make(chan error, 1)
	a.nodes.settle = 4 * leaveFor
	go func() { done <- agent.Leave(t.Context(), a.nodes, "n1") }()
	r.await("removed", func() bool { return a.node(t, "n1").Annotations[defaultAnnotation] == "" })
	w.Modify(a.node(t, "n1"))
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the agent of n1 runs, and has put the record back: stop it first") {
		t.Errorf("while it runs: %v", err)
	}
	r.end()
	a.nodes.settle = time.Second
	if err := agent.Leave(t.Context(), a.nodes, "n1"); err != nil || a.node(t, "n1").Annotations[defaultAnnotation] != "" {
		t.Errorf("without it: %v", err)
	}
}
