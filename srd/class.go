package srd

import "time"

// Class says how long a lost message is worth repairing: one of the constants, or
// Deadline of a duration.
type Class uint32

// The classes that have a name.
const (
	// Stream messages carry a protocol that repairs itself, after 200 ms at the earliest
	// (Linux's minimum RTO). So their repair ends after 150 ms, or after four round trips
	// if those are longer.
	Stream Class = 0
	// Datagram messages carry a protocol that has no use for late data. Their repair ends
	// after 50 ms, or after four round trips if those are longer.
	Datagram Class = 1
	// Reliable messages are repaired until they are acknowledged or the session is gone.
	Reliable Class = 1<<32 - 1

	// All others are deadlines, in units of classUnit.
	firstDeadline, lastDeadline = Datagram + 1, Reliable - 1
)

// classUnit makes the longest deadline somewhat more than an hour.
const classUnit = time.Microsecond

// Deadline returns a class with a fixed time. A payload is given up when d has passed since
// it was first sent, and not before. The number of losses does not matter. The time is at
// least 2 us and at most 71 minutes.
func Deadline(d time.Duration) Class {
	n := max(d, 0) / classUnit
	return Class(min(max(n, time.Duration(firstDeadline)), time.Duration(lastDeadline)))
}

// deadline returns the time after which messages of class k are given up. ok is false if k
// has no fixed time.
func (k Class) deadline() (d time.Duration, ok bool) {
	if k < firstDeadline || k > lastDeadline {
		return 0, false
	}
	return time.Duration(k) * classUnit, true
}

// Status is the outcome of a message.
type Status uint8

// The statuses. The payload of a message that is not Acknowledged may have arrived
// nevertheless, if only the acknowledgement was lost.
const (
	Acknowledged Status = iota // the peer has it
	GivenUp                    // it was not worth repairing any more
	Reset                      // the peer restarted, closed the session, or did not answer
	NumStatus
)

var statusNames = [NumStatus]string{"acknowledged", "given up", "reset"}

// String returns the status in words.
func (s Status) String() string {
	if s < NumStatus {
		return statusNames[s]
	}
	return "unknown"
}
