// Package agent drives a [fleet.Roster]: it gives it the clock and what a discovery says, and
// has its files written. The discovery itself is the program's: etcd, Kubernetes.
package agent
