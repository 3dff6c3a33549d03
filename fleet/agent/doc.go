// Package agent is the program of a member of a fleet, without its store. It drives a
// [fleet.Roster] with the clock and the entries of a [Store], and writes the files. It also
// keeps the record of its host in the store.
package agent
