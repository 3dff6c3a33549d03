// Package fleet decides which hosts of a fleet become peers of the daemon. A store, such as etcd or
// Kubernetes, delivers records of members: their names, keys, endpoints and prefixes. A record
// alone proves nothing, because its writer may have stolen a password of the store. The operator's
// [Policy] decides which records are valid, by an allow list or by signatures of the fleet's key.
//
// [Roster] is the state machine that applies the policy to the records. The inputs of a Roster
// are records (List, Put, Listed, Delete) and times. The outputs are files for the daemon's
// directory of drop-in peers (Changes), and lines for a log (Notices). A Roster uses no clock,
// file, socket or goroutine, because package agent drives it.
//
// The policy always limits the contents of a valid record. The record's key must be on the allow
// list, or the fleet's key must have signed it for this name. The record's allowed IPs and
// endpoints must lie within the listed or signed networks.
//
// Two members may claim overlapping prefixes or the same key. The Roster then admits the member
// with the older right. The operator determines the age of a right, by the order of lines in the
// list or by the time in the signature. The age of the member's key in etcd does not count, because
// whoever can delete that key can create it again.
package fleet
