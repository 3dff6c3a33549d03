// Package inspect gives tests and the simulator access to the state of a connection. Users of
// package srd have no access to that state. Package srd sets the variables of this package. The
// argument `conn` of each function is a *srd.Conn.
package inspect

var (
	// Sound returns an error for the first inconsistency in the connection's state, or the first
	// exceeded bound; nil: there is none. It checks the whole state, so its time grows with the
	// amount of unacknowledged data.
	Sound func(conn any) error
	// Within returns an error for the first table or queue that exceeds its bound; nil: there is
	// none. It only reads sizes, so a simulation may call it after every step.
	Within func(conn any) error
	// TailProbes returns how many copies of the oldest message may be sent even if the window is
	// full.
	TailProbes func(conn any) int
)
