// Package inspect lets tests and the simulator look into a connection of package srd, which its
// users cannot. Package srd sets what is here; conn is a *srd.Conn.
package inspect

var (
	// Sound reports the first thing in which the connection's books disagree, or that is
	// beyond its bound; nil when all is well. It looks at everything, which takes time in
	// proportion to what is unacknowledged.
	Sound func(conn any) error
	// Within reports the first table or queue that is beyond its bound, nil when none is. It
	// takes no longer than a look at each, so that a simulation may ask after every step.
	Within func(conn any) error
	// TailProbes returns how many copies of the oldest message may be sent whatever the window
	// says.
	TailProbes func(conn any) int
)
