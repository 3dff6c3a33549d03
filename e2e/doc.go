// Package e2e tests the shipped binary in network namespaces, with programs that know nothing
// of it. The fabric has two hosts and four spines of 100 Mbit/s unless a test says otherwise.
//
// The tests need root and the tools named in main_test.go, and fail without them. The bounds
// are wide enough for a busy machine of two cores. They are narrow enough for a tunnel over one
// path to fail; TestPlainTCPIsStuck shows that. SRDTUN_BIN names another binary to test instead
// of building one.
package e2e
