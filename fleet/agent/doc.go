// Package agent is the program of a member of a fleet, without its store: it drives a
// [fleet.Roster], gives it the clock and what a [Store] has, writes the files, and keeps the
// record of its host in the store.
package agent
