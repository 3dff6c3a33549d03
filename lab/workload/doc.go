// Package workload reads other simulators' files that describe experiments, and makes
// workloads of its own. The package is pure: files are passed as text, and randomness as
// a stream.
//
//	.topo  a fat tree by tiers (htsim)         topology.go
//	.cm    flows between hosts (htsim)         matrix.go
//	.cdf   flow sizes                          sizes.go
//	faults cables that die or corrupt (REPS)   fault.go
//
// Poisson arrivals and barriers are in arrival.go. Every error names file and line.
package workload
