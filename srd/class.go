package srd

import "time"

// Class determines for how long lost copies of a message are replaced. A Class is one of
// the constants, or the result of Deadline.
type Class uint32

const (
	// Stream messages carry a protocol with its own retransmission, after 200 ms at the
	// earliest (Linux's minimum RTO). So the repair of Stream messages ends after 150 ms,
	// or after four round trips if those are longer.
	Stream Class = 0
	// Datagram messages carry a protocol that cannot use late data. The repair of
	// Datagram messages ends after 50 ms, or after four round trips if those are longer.
	Datagram Class = 1
	// Reliable messages are repaired until they are acknowledged or the session ends.
	Reliable Class = 1<<32 - 1

	// All other classes are deadlines, in units of classUnit.
	firstDeadline, lastDeadline = Datagram + 1, Reliable - 1
)

// With classUnit the longest deadline is somewhat more than an hour.
const classUnit = time.Microsecond

// Deadline returns a class with a fixed repair time. A payload is given up when d has
// passed since it was first sent, and not earlier, however often it was lost. The repair
// time is at least 2 us and at most 71 minutes.
func Deadline(d time.Duration) Class {
	return Class(min(max(d/classUnit, time.Duration(firstDeadline)), time.Duration(lastDeadline)))
}

// deadline returns the repair time of class k, after which messages are given up. If k has
// no fixed repair time, ok is false.
func (k Class) deadline() (d time.Duration, ok bool) {
	return time.Duration(k) * classUnit, k >= firstDeadline && k <= lastDeadline
}

// Status is the outcome of a message.
type Status uint8

// The statuses. A payload with another status than Acknowledged may also have arrived:
// perhaps only its acknowledgement was lost.
const (
	Acknowledged Status = iota // the peer has it
	GivenUp                    // it was lost, and too old to be sent again
	Reset                      // the peer restarted, closed the session, or did not answer
	NumStatus
)

var statusNames = [NumStatus]string{"acknowledged", "given up", "reset"}

// String returns the name of the status.
func (s Status) String() string {
	if s < NumStatus {
		return statusNames[s]
	}
	return "unknown"
}
