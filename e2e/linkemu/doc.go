// Package linkemu emulates a cable with faults. It joins two network interfaces and delays,
// loses, reorders, duplicates and corrupts the frames between them.
//
//	       left                                         right
//	... --| veth |-- recvmmsg -> Line (a to b) -> sendmmsg --| veth |-- ...
//	      |      |-- sendmmsg <- Line (b to a) <- recvmmsg --|      |
//
// A Line is one direction of a cable, and has no clock, sockets or goroutines. Frames and times
// are its input, and frames in the order of their departure its output. All random choices come
// from the line's seed. A Cable drives two lines with packet sockets.
//
// A hash of the ports assigns each flow of a line to a class. Each class has an Impairment of
// its own, so one cable may stand for several paths.
package linkemu
