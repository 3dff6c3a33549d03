// Package fleet decides which members of a fleet become peers. Discovery, such as etcd or
// Kubernetes, brings records: who claims to be a member, where it is, and what it carries.
// They are claims of somebody who may have stolen a password. The operator's [Policy], an
// allow list or signatures of the fleet's key, says which of them count.
//
// [Roster] is the machine that does it. In go records (Sync, Put, Delete) and the time, out
// come files for the daemon's directory of drop-in peers (Next) and what is worth a line in
// a log (Notice). It has no clock, file, socket or goroutine; package agent drives it.
//
// What a record can do is bounded by the policy at every moment:
//
//   - its key is listed, or signed by the fleet's key, for this name;
//   - its allowed IPs lie within those that are listed or signed;
//   - its endpoints lie within the networks that are listed or signed;
//   - of two that claim overlapping prefixes, or the same key, the one with the older right
//     is admitted. Older is what the operator's word says (the line of the list, the time in
//     the signature), not when a key in etcd was made: who can delete it can make it again.
package fleet
