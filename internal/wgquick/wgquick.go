// Package wgquick has the numbers that srdtun and wg-quick(8) have in common, so that both
// programs work on one host.
package wgquick

// Mark is the mark on the outer packets of the first tunnel with a default route. The tunnel's
// routing table has the number Mark, too.
const Mark = 51820
