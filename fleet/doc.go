// Package fleet decides which members of a fleet become peers. Discovery, such as etcd or
// Kubernetes, delivers records of members: their names, keys, endpoints and prefixes. A record
// is only a claim, because its writer may have stolen a password. The operator's [Policy]
// decides which records count: it is an allow list, or signatures of the fleet's key.
//
// [Roster] is the state machine that applies the policy. Its input are records (List, Put,
// Listed, Delete) and times. Its output are files for the daemon's directory of drop-in peers
// (Changes) and lines for a log (Notices). Roster uses no clock, file, socket or goroutine;
// package agent drives it.
//
// At every moment, the policy limits what a record can claim. The record's key must be listed,
// or be signed by the fleet's key for this name. Its allowed IPs and its endpoints must lie
// within the listed or signed networks.
//
// Two members may claim overlapping prefixes, or the same key. Then the member with the older
// right is admitted. The operator decides the age of a right, by the order of lines in the list
// or by the time in the signature. The age of a key in etcd does not count, because a user who
// can delete a key can create it again.
package fleet
