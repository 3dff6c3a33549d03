package daemon

import (
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/steer"
)

// steering is the choice of a connection's paths, and its congestion control. It is used only
// with the connection locked.
type steering struct {
	name    string // of the path policy
	policy  steer.Policy
	control *cc.SRD
}
