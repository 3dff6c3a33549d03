package k8s

import (
	"strings"

	"github.com/srdtun/srdtun/fleet"
)

// unlikeNode is a prefix for a member whose Node's name is not a valid member name: some
// providers name Nodes by their addresses. No Node's name contains an underscore (RFC 1123), so
// no two Nodes become one member.
const unlikeNode = "node_"

// memberName returns the member's name for a Node.
func memberName(node string) string {
	if fleet.CheckName(node) != nil && fleet.CheckName(unlikeNode+node) == nil {
		return unlikeNode + node
	}
	return node
}

// nodeName returns the Node's name for a member.
func nodeName(member string) string { return strings.TrimPrefix(member, unlikeNode) }
