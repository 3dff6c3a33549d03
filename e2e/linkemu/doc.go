// Package linkemu is a cable with faults: it joins two network interfaces and
// delays, loses, reorders, duplicates and corrupts the frames between them.
//
//	       left                                         right
//	... --| veth |-- recvmmsg -> Line (a to b) -> sendmmsg --| veth |-- ...
//	      |      |-- sendmmsg <- Line (b to a) <- recvmmsg --|      |
//
// A Line is one direction and a pure machine: frames and times go in, frames
// come out in the order of their times. Everything random comes from its seed.
// A Cable drives two lines with packet sockets.
//
// The flows in a line are divided into classes by a hash of their ports,
// and each class has an Impairment of its own, so one cable may stand for
// several paths.
package linkemu
