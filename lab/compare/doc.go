// Package compare puts path policies, TCP and MPTCP into the same situations and
// says how much longer flows take with each than with the best of them, as the
// evaluations of CONGA (Alizadeh et al., SIGCOMM 2014, section 5) and LetFlow (Vanini
// et al., NSDI 2017, section 5) do.
//
//	system.go   what is compared     cell.go    one of its situations, as a plan of package lab
//	fair.go     what no fair system betters
//	fabric.go   on which network     record.go  what came of it, a line of JSON
//	matrix.go   all situations       table.go   ratios, tables, bars
//	ordering.go what restoring the order of flows took
//	incast.go   many senders answer one client       flowlets.go  how long flowlets are
//
// Inner flows are those of TCP through the overlay (lab.Tunnel): a flowlet ends
// where a flow pauses, and a flow without a window of its own never does. It is
// pure, like package lab, which plays the plans.
package compare
