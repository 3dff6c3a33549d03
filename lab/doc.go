// Package lab runs experiments in virtual time: a Plan names a topology, flows,
// faults and transports, and Run plays a case of it with a seed and returns what
// became of every flow and every link.
//
//	plan.go       the file       run.go      its course       summary.go, goal.go  its figures
//	network.go    fat trees      fault.go    what breaks      result.go            what is written
//	delays.go     how late hosts are, as recorded in hosts/   process.go  the daemon on one
//	faultfile.go  other simulators' fault plans               sweep.go    networks of all kinds
//	transport.go  what carries flows: srd.go and srd_end.go are this project's own, tcp.go TCP and MPTCP
//
// It is pure: files are read by the caller, and a plan and a seed give the same
// Result, to the last bit.
package lab
