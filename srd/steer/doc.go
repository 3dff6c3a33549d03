// Package steer chooses the path of the next packets. A policy is pure, has
// fixed tables and a seed, and never looks at a clock of its own.
//
//	spray          every train any path, by queue            SRD (IEEE Micro 2020)
//	ecmp           path by hash of the flow                  RFC 2992
//	wcmp           the same, by configured weights           Zhou, EuroSys 2014
//	letflow        random path for each flowlet              Vanini, NSDI 2017, section 3
//	conga          least congested path for each flowlet     Alizadeh, SIGCOMM 2014, section 3
//	conga-flow     the same with a timeout of 13 ms          ibid., section 5
//	clove-ecn      flowlets in turn, weights by marks        Katta, CoNEXT 2017
//	presto         64 KB of a flow, then the next path       He, SIGCOMM 2015
//	plb            another path after rounds of congestion   Qureshi, SIGCOMM 2022
//	flowbender     the same, after one round of 5 % marks    Kabbani, CoNEXT 2014
//	duplicate      everything on two paths
//	active-backup  one path, another when it fails
//
// [New] makes them by name.
//
// # What a policy is told
//
// All policies are a [Policy]. What some need beyond it are small interfaces of
// their own, which a connection looks for, so that the others pay nothing:
//
//   - [Scoped]: how long a choice holds. A policy that keeps flows together gets
//     trains of one flow only, and the flow in [Context]; a connection that would
//     otherwise spare a path because it is late, or holds more than its share of
//     the window, leaves it to such a policy.
//   - [Sender]: what was sent on which path, for rates and flowcells.
//   - [Remote]: how congested the other end sees our paths. A connection whose
//     policy is one stamps its packets with the time. The other end measures with
//     a [Gauge], whatever its own policy is, and sends the result back, one path
//     a packet.
//   - [Placed]: the class of a path: which of the configured local addresses it
//     leaves from. Weights and the primary are configured by class.
//   - [Doubled]: a second path for what was sent on the first.
//
// Repairs are choices too, but not of the flow's path: [Context].Repair says so,
// and then no table is changed.
//
// # Why flows are hashed
//
// Policies that keep flows have one table of 4,096 entries, found by the flow's
// hash. Nothing is looked up, aged out or refused; two flows in one entry share a
// path, which costs balance and nothing else (CONGA, section 3.4). Tables take
// memory when the first choice is made, and do not grow.
package steer
