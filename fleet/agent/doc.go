// Package agent is the program that runs on a member of a fleet, without the store. It
// drives a [fleet.Roster] with the clock and the entries of a [Store], and writes the
// files. It also keeps the record of its host in the store.
package agent
