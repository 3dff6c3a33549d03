// Package linkemu emulates a network cable with faults. An emulated cable joins two network
// interfaces, and delays, loses, reorders, duplicates and corrupts frames.
//
//	       left                                         right
//	... --| veth |-- recvmmsg -> Line (a to b) -> sendmmsg --| veth |-- ...
//	      |      |-- sendmmsg <- Line (b to a) <- recvmmsg --|      |
//
// A Line is one direction of a cable, and has no clock, sockets or goroutines. The input of a
// Line is frames with times, and its output is frames in the order of departure. All random
// choices of a Line come from its seed. A Cable drives two lines with packet sockets.
//
// A hash of the ports assigns each flow of a Line to a class. Each class has its own Impairment,
// so one cable can emulate several paths.
package linkemu
