package daemon

import (
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/steer"
)

// steering has the path policy and the congestion control of a connection. The fields of
// steering are used only while the connection is locked.
type steering struct {
	name    string // name of the path policy
	policy  steer.Policy
	control *cc.SRD
}
