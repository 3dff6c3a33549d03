// Package events keeps the newest events of an interface, each with a type, and limits how often
// the same event is told.
//
// Add numbers an event and puts it into a ring, unless its limit holds it back. Readers (the log,
// the control socket) ask for the events after a number. A slow reader delays nobody: it learns
// how many events it has missed.
//
// An event is about a subject: a peer, a local address, a name. If a subject changes all the
// time, its first changes are told at once. Later ones are told at intervals, with the latest
// state and the number of changes left out. If many subjects change at once, as when a hub loses
// its uplink, the first are told and the rest is counted.
//
// The package is pure: no clock, no lock, no output.
package events
