// Package lab runs experiments in virtual time: a plan names a topology, flows,
// faults and a transport, and Run plays it with a seed and returns what became of
// every flow.
package lab
