package srd

import "example.org/tree/srd/mono"

type paths struct {
	*env
	recovery *recovery
	table    []*path
}

func (ps *paths) due(now mono.Time) bool {
	for _, p := range ps.table {
		if p.late(now) {
			ps.recovery.lose(p)
		}
	}
	return false
}
