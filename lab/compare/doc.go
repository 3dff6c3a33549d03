// Package compare runs path policies, TCP and MPTCP under the same conditions. The package divides
// the completion times of each system by the completion times of the best system. The evaluations
// of CONGA (Alizadeh et al., SIGCOMM 2014, section 5) and LetFlow (Vanini et al., NSDI 2017,
// section 5) use the same ratios.
//
//	system.go   the compared systems      cell.go    one situation, as a plan of package lab
//	fair.go     a bound for all fair systems
//	fabric.go   the networks              record.go  the results, a line of JSON each
//	matrix.go   all situations            table.go   ratios, tables, bars
//	ordering.go the cost of restoring the order of flows
//	incast.go   many senders answer one client       flowlets.go  sizes of flowlets
//
// Inner flows are TCP connections through the overlay (lab.Tunnel). A flowlet ends when its flow
// pauses. A flow without its own congestion window would never pause, so inner flows need TCP. The
// package is pure, like package lab, which runs the plans.
package compare
