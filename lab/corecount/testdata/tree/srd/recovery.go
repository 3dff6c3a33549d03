package srd

import "example.org/tree/srd/mono"

const later = 100 // used by path.go, below: an arrow that runs up

type recovery struct {
	*env
	paths *paths
	lost  [4]*path
}

func (rc *recovery) due(now mono.Time) bool {
	for _, p := range rc.paths.table {
		p.late(now)
	}
	return false
}

func (rc *recovery) lose(p *path) { rc.lost[0] = p }
