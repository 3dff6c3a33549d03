// Package e2e tests the shipped binary in network namespaces, with unmodified programs as its
// users. By default, the network has two hosts and four spines with links of 100 Mbit/s.
//
// The tests need root and the tools named in main_test.go, and fail without them. The bounds of
// the tests are wide enough for a busy machine with two cores. The bounds of the tests are too
// narrow for a tunnel over one path, as TestPlainTCPIsStuck shows. The variable SRDTUN_BIN names
// a binary to test, instead of a newly built one.
package e2e
