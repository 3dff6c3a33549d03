package k8s

import (
	"strings"

	"github.com/srdtun/srdtun/fleet"
)

// unlikeNode is the prefix of a member's name if the Node's name cannot be a member's name. For
// instance, some providers use addresses as names of Nodes. No Node's name contains an underscore
// (RFC 1123), so two Nodes never get the same member's name.
const unlikeNode = "node_"

// memberName converts a Node's name to a member's name.
func memberName(node string) string {
	if fleet.CheckName(node) != nil && fleet.CheckName(unlikeNode+node) == nil {
		return unlikeNode + node
	}
	return node
}

// nodeName converts a member's name to a Node's name.
func nodeName(member string) string { return strings.TrimPrefix(member, unlikeNode) }
