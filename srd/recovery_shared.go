package srd

// Constants of what is lost on most paths.
const (
	// fatesPackets of all paths count for half when as many have come after them: of sixteen paths that
	// are a few hundred each, which tell one that loses three in a hundred.
	fatesPackets = 4096
	// aloneLeast is what a path may lose, and others not, when a buffer that all share runs over.
	aloneLeast = 8
)

// fates is what became of a path's packets lately.
type fates struct{ packets, lost uint16 }

// count adds a packet.
func (rc *recovery) count(f *fates, lost uint16) {
	f.packets++
	f.lost += lost
	if rc.counted++; rc.counted < fatesPackets {
		return
	}
	rc.counted = 0
	for _, p := range rc.paths.table {
		p.fates.packets /= 2
		p.fates.lost /= 2
	}
}

// shared returns how many of so many bytes lost on p count as congestion: that is what most packets meet
// (SRD, "Congestion Control": on most paths), and what one bad path among many loses is for the choice of
// paths to avoid. Of that counts what the others lose as well.
//
//	lost * (share lost on all others) / (share lost on p)
func (rc *recovery) shared(p *path, lost int) int {
	own, carried := int(p.fates.lost), int(p.fates.packets)
	packets, others, alike := 0, 0, carried // alike: of all that lose half as much at least
	for _, q := range rc.paths.table {
		if q == p {
			continue
		}
		packets += int(q.fates.packets)
		others += int(q.fates.lost)
		if 2*int(q.fates.lost)*carried >= own*int(q.fates.packets) {
			alike += int(q.fates.packets)
		}
	}
	if expected := others * carried / max(1, packets); 2*alike < packets+carried && own > expected+aloneLeast {
		return int(int64(lost) * int64(expected) / int64(own))
	}
	return lost
}
