// Package linkemu is a cable with faults. It joins two network interfaces and delays, loses,
// reorders, duplicates and corrupts the frames between them.
//
//	       left                                         right
//	... --| veth |-- recvmmsg -> Line (a to b) -> sendmmsg --| veth |-- ...
//	      |      |-- sendmmsg <- Line (b to a) <- recvmmsg --|      |
//
// A Line is one direction and a pure machine. Frames and times go in; frames come out in the
// order of their times. All random choices come from the line's seed. A Cable drives two lines
// with packet sockets.
//
// A hash of the ports divides the flows of a line into classes. Each class has an Impairment of
// its own, so one cable may stand for several paths.
package linkemu
