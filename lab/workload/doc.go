// Package workload reads files of other simulators that describe experiments, and generates
// workloads of its own. The package is pure: its arguments are the text of files, and a source of
// randomness.
//
//	.topo  a fat tree by tiers (htsim)         topology.go
//	.cm    flows between hosts (htsim)         matrix.go
//	.cdf   flow sizes                          sizes.go
//	faults cables that fail or corrupt (REPS)  fault.go
//
// Poisson arrivals and barriers between batches are in arrival.go. Every parse error names the file
// and the line.
package workload
