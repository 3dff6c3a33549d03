//go:build !race

package ep

// Without the race detector, nothing is to note (see order_race.go).
func noteSend() {}
func notePoll() {}
