// Package lab runs experiments in virtual time. A Plan names a topology, flows, faults and
// transports. Run simulates a case of the plan with a seed, and returns the results of every flow
// and link.
//
//	plan.go       the file       run.go      its course       summary.go, goal.go  its figures
//	network.go    fat trees      fault.go    faults           result.go            the output
//	delays.go     delays of hosts, as recorded in hosts/      process.go  the daemon on one
//	faultfile.go  other simulators' fault plans               sweep.go    networks of all kinds
//	transport.go  carriers of flows: srd.go and srd_end.go are this project's own, tcp.go TCP and MPTCP
//
// The package is pure: the caller reads the files. The same plan and seed give the same Result, to
// the last bit.
package lab
