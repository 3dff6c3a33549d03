// Package inspect lets tests and the simulator look into a connection of package srd, which its
// users cannot. Package srd sets these variables; conn is a *srd.Conn.
package inspect

var (
	// Sound reports the first contradiction in the connection's state, or the first bound
	// exceeded; nil: none. It checks everything, so its time grows with the amount of
	// unacknowledged data.
	Sound func(conn any) error
	// Within reports the first table or queue that exceeds its bound; nil: none. It only
	// looks at each one's size, so a simulation may call it after every step.
	Within func(conn any) error
	// TailProbes returns how many copies of the oldest message may be sent in spite of the
	// window.
	TailProbes func(conn any) int
)
