//go:build !newcore

package lab

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
)

// This file selects the implementation of the transport that experiments use. The file lists all
// types and functions of the transport whose implementation matters. Others, such as srd.Message
// and srd.Tuple, are used directly. To test a second core, write a file with the build tag newcore
// that defines the same names for that core:
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
