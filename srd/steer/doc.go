// Package steer has the path policies, which choose the path of each train. A policy is pure: it
// has fixed tables and a seed, and no clock.
//
//	spray          any path for each train, by queue         SRD (IEEE Micro 2020)
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
// [New] makes policies by name.
//
// # The interfaces of a policy
//
// All policies implement [Policy]. Some policies also implement one of the following small
// interfaces. A connection checks for them once, so they cost other policies nothing:
//
//   - [Scoped]: for what a choice is made. A policy that keeps flows together gets trains of
//     one flow only, and the flow in [Context]. All usable paths are offered to such a policy,
//     also paths whose cost makes them ineligible for other policies.
//   - [Sender]: the bytes sent on each path, for rates and flowcells.
//   - [Remote]: the congestion of our paths, measured by the other end. A connection with
//     such a policy stamps its packets with the time. The other end measures with a
//     [Gauge], whatever its own policy is. Each of its packets carries one path's result.
//   - [Placed]: the class of a path: the configured local address at which it begins.
//     Weights and the primary are configured by class.
//   - [Doubled]: a second path for each train, or for messages that want a copy.
//
// The policy also chooses the path of a repair, but the flow stays on its path. [Context].Repair
// marks such a choice, which changes no table.
//
// # Why flows are hashed
//
// A policy that keeps flows on paths has one table of 4,096 entries, indexed by the flow's hash.
// So the policy never has to search for a flow, remove it or refuse it. Two flows with the same
// entry share a path, which only makes the load less balanced (CONGA, section 3.4). A table is
// allocated at the first choice and does not grow.
package steer
