// Package events is what happened to an interface: the newest of it, each as one typed
// event, and a limit on how often the same is told.
//
// Whoever sees a change calls Add; what may be told goes into a ring, numbered. Readers
// (the log, the control socket) ask for what came after the number they have, so a slow
// reader holds up nobody: it is told how many it missed.
//
// An event is about a subject: a peer, a local address, a name. A subject that changes
// all the time is told a few times at once and then at intervals, always with its latest
// state and how many changes were left out. When many subjects change at once, as when
// a hub loses its uplink, so many are told and the rest is counted.
//
// The package is pure: no clock, no lock, no output.
package events
