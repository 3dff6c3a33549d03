package k8s

import (
	"strings"

	"github.com/srdtun/srdtun/fleet"
)

// unlikeNode begins the name of a member whose Node's name is none for a member: some providers
// name Nodes as their addresses. No Node's name has an underscore (RFC 1123), so no two Nodes
// become one member.
const unlikeNode = "node_"

// memberName is the member's name of a Node.
func memberName(node string) string {
	if fleet.CheckName(node) != nil && fleet.CheckName(unlikeNode+node) == nil {
		return unlikeNode + node
	}
	return node
}

// nodeName is the Node's name of a member.
func nodeName(member string) string { return strings.TrimPrefix(member, unlikeNode) }
