package srd

import "time"

// Class says how long a lost message is worth repairing: one of the constants, or
// Deadline of a duration.
type Class uint32

// The classes that have a name.
const (
	// Stream messages carry a protocol that repairs itself after 200 ms at the
	// earliest (Linux's minimum RTO): they are repaired for 150 ms, or four round trips.
	Stream Class = 0
	// Datagram messages carry a protocol for which late is lost: 50 ms, or four round trips.
	Datagram Class = 1
	// Reliable messages are repaired until they are acknowledged or the session is gone.
	Reliable Class = 1<<32 - 1

	// All others are deadlines, in units of classUnit.
	firstDeadline, lastDeadline = Datagram + 1, Reliable - 1
)

// classUnit makes the longest deadline somewhat more than an hour.
const classUnit = time.Microsecond

// Deadline returns the class of messages whose payload is given up d after it was first
// sent, and not before: how often it was lost does not matter. It is at least 2 us and at
// most 71 minutes.
func Deadline(d time.Duration) Class {
	n := max(d, 0) / classUnit
	return Class(min(max(n, time.Duration(firstDeadline)), time.Duration(lastDeadline)))
}

// deadline returns after how long messages of class k are given up, if that is what the
// class says.
func (k Class) deadline() (d time.Duration, ok bool) {
	if k < firstDeadline || k > lastDeadline {
		return 0, false
	}
	return time.Duration(k) * classUnit, true
}

// Status is what became of a message.
type Status uint8

// The statuses. The payload of a message that is not Acknowledged may have arrived: the
// acknowledgement may be what was lost.
const (
	Acknowledged Status = iota // the peer has it
	GivenUp                    // it was not worth repairing any more
	Reset                      // the peer is gone: it is another process, closed, or did not answer
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
