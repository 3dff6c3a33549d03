package rtt

import "example.org/tree/srd/mono"

const parts = 8

type Estimator struct{ smoothed, latest mono.Time }

func (e *Estimator) Sample(at mono.Time) { e.smoothed += (at - e.smoothed) / parts }
