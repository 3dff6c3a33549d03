// Package fleet decides which members of a fleet become peers. Discovery, such as etcd or
// Kubernetes, brings records of members: their names, keys, endpoints and prefixes. A record is
// a claim, and its writer may have stolen a password. The operator's [Policy] decides which
// records count: an allow list, or signatures of the fleet's key.
//
// [Roster] is the machine that does it. Records (List, Put, Listed, Delete) and times go in.
// Files for the daemon's directory of drop-in peers (Changes) and lines for a log (Notices)
// come out. Roster has no clock, file, socket or goroutine; package agent drives it.
//
// The policy bounds a record at every moment. The record's key is listed, or the fleet's key
// signed it for this name. Its allowed IPs and its endpoints lie within the listed or signed
// networks.
//
// Two members may claim overlapping prefixes, or the same key. Then the member with the older
// right is admitted. The operator decides the age, by the line of the list or the time in the
// signature. The age of a key in etcd does not count: a user who can delete a key can make it
// again.
package fleet
