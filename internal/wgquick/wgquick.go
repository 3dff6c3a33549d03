// Package wgquick has the numbers that srdtun shares with wg-quick(8), so that both programs
// work on one host.
package wgquick

// Mark is the mark on the outer packets of the first tunnel with a default route. The tunnel's
// routing table has the number Mark, too.
const Mark = 51820
