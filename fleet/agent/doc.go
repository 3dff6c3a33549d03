// Package agent implements the agent on each member of a fleet, except for the store's client.
// The agent drives a [fleet.Roster] with the clock and the entries of a [Store], and writes
// drop-in files. The agent also maintains its host's own record in the store.
package agent
