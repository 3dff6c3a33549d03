// Package wgquick has the numbers that srdtun shares with wg-quick(8), so that both work
// on one host.
package wgquick

// Mark is the mark of the outer packets of the first tunnel with a default route, and the
// number of its routing table.
const Mark = 51820
