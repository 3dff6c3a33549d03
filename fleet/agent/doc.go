// Package agent implements the agent that runs on each member of a fleet. The client of the store
// is in another package. The agent passes the time and the entries of a [Store] to a
// [fleet.Roster], and writes the resulting drop-in files. It also maintains its own host's record
// in the store.
package agent
