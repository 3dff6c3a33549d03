// Package events keeps the newest events of an interface, each with a kind, and limits how often
// similar events are reported.
//
// Add numbers an event and puts it into a ring, unless its limit holds it back. Readers (the log,
// the control socket) ask for the events after a number. A slow reader delays nobody: it learns
// how many events it has missed.
//
// An event is about a subject, such as a peer, a local address or a name. If a subject changes
// all the time, its first changes are reported at once. Later ones are reported at intervals,
// with the latest state and the number of changes left out. If many subjects change at once, as
// when a hub loses its uplink, the first are reported and the others are counted.
//
// Events about guests, which are peers that another user than root has added, have limits and a
// ring of their own. So that user can hide no event about anything else, however many he causes.
//
// The package is pure: no clock, no lock, no output.
package events
