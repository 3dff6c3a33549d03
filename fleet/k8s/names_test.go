package k8s

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

// Each Node's name is converted to a valid member's name, and back to the same Node's name.
func TestNodesHaveNamesOfMembers(t *testing.T) {
	for node, want := range map[string]string{
		"n1": "n1", "ip-10-0-0-5.ec2.internal": "ip-10-0-0-5.ec2.internal", "node-10-0-0-5": "node-10-0-0-5",
		"10.0.0.5": "node_10.0.0.5",
	} {
		name := memberName(node)
		if name != want || fleet.CheckName(name) != nil || nodeName(name) != node {
			t.Errorf("%s: %s, and back %s", node, name, nodeName(name))
		}
	}
}

// A Node whose name has the form of a key is refused as a member, because bug reports would hide
// the name.
func TestNodeNamedLikeAKeyIsRefused(t *testing.T) {
	if node := strings.Repeat("a", 43); fleet.CheckName(memberName(node)) == nil {
		t.Errorf("%s became %s", node, memberName(node))
	}
}

// A Node whose name is its address can become a member, and can leave.
func TestNodeNamedAsItsAddressIsAMember(t *testing.T) {
	const node, name = "10.0.0.5", "node_10.0.0.5"
	a := newAPI(t, node)
	r := start(t, a)
	w := <-a.watching
	must(t, a.nodes.write(t.Context(), name, a.recordOf(t, name, 4).Format()))
	w.Modify(a.node(t, node))
	r.wantFiles("fleet-" + name + ".toml")
	a.nodes.settle = 10 * time.Millisecond
	if err := agent.Leave(t.Context(), a.nodes, name); err != nil || a.node(t, node).Annotations[defaultAnnotation] != "" {
		t.Errorf("leave: %v, %v", err, a.node(t, node).Annotations)
	}
	w.Modify(a.node(t, node))
	r.wantFiles()
}
