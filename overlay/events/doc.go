// Package events keeps the newest events of an interface, and limits how often similar events
// are reported.
//
// The method Log.Add numbers an event and puts it into a ring, unless a rate limit delays the
// event. Readers (the log, the control socket) request the events after a given number. A slow
// reader delays nobody: it misses events, and the reply to its next request has their number.
//
// An event is about a subject, such as a peer, a local address or a name. If a subject changes all
// the time, its first changes are reported immediately. Later changes of the subject are reported
// at intervals, with the latest state and the number of changes left out. If many subjects change
// at the same time, for instance when a hub loses its uplink, the first changes are reported and
// the others counted.
//
// A guest is a peer that a user other than root has added. Events about guests have rate limits and
// a ring of their own, so they cannot displace events about other peers.
//
// The package is pure: it has no clock, lock or output.
package events
