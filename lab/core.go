//go:build !newcore

package lab

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
)

// The transport that experiments play. Here are all of its types and functions whose insides
// matter; the others, as srd.Message and srd.Tuple, are its language. A second core is tried
// beside this one by a file with the tag newcore, that has the same names for its own:
//
//	make acceptance TAGS=newcore
type (
	coreConn     = srd.Conn
	coreConfig   = srd.Config
	coreEndpoint = srd.Endpoint
	coreKeys     = srd.RecvKeys
	coreControl  = cc.SRD
)

var (
	newConn     = srd.New
	newEndpoint = srd.NewEndpoint
	newControl  = cc.New
)
