//go:build !newcore

package lab

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
)

// This file selects the implementation of the transport that experiments use. The file lists the
// types and functions that depend on this implementation. Types such as srd.Message and srd.Tuple
// do not depend on it, and are used directly. A file with the build tag newcore can define the same
// names for a second core:
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
