package cc

const (
	gain  = 0.25
	grown = gain * 4
)

type SRD struct {
	window float64
	round  round
}

type round struct{ acked, lost int }
