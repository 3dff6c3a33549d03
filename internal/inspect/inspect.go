// Package inspect lets tests and the simulator look into a connection of package srd, which its
// users cannot. Package srd sets these variables; their argument conn is a *srd.Conn.
package inspect

var (
	// Sound reports the first contradiction in the connection's state, or the first exceeded
	// bound; nil means none. It checks everything, so its time grows with the amount of
	// unacknowledged data.
	Sound func(conn any) error
	// Within reports the first table or queue that exceeds its bound; nil means none. It only
	// reads the size of each, so a simulation may call it after every step.
	Within func(conn any) error
	// TailProbes returns how many copies of the oldest message may be sent even if the window
	// is full.
	TailProbes func(conn any) int
)
