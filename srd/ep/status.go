package ep

import (
	"errors"
	"fmt"
)

// These are the errors of calls.
var (
	// ErrClosed means that the endpoint or the handle is closed.
	ErrClosed = errors.New("ep: closed")
	// ErrTooLarge means that a message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("ep: message larger than %d bytes", MaxMessage)
	// ErrFull means that a handle has SendDepth requests without a polled completion, or
	// that ReceiveDepth receives are posted.
	ErrFull = errors.New("ep: the queue is full")
	// ErrDeadline means that a request's deadline had passed before it was queued.
	ErrDeadline = errors.New("ep: the deadline has passed")
)

// Status is the result of a work request. Each status but StatusOK is an error.
type Status uint8

// These are the statuses. Only StatusOK says that the message arrived. After
// StatusReset, StatusTimedOut, StatusUnresponsive and StatusFlushed it may have arrived;
// after the others it has not.
const (
	// StatusOK: the responder accepted the message into a posted receive, whole.
	StatusOK Status = iota
	// StatusBadDestination: the peer is there, but is no endpoint of this protocol for
	// this key: it speaks another protocol, or has revoked the key.
	StatusBadDestination
	// StatusNotReady: the peer has refused the message more often than the caller allows,
	// because no receive was posted.
	StatusNotReady
	// StatusRemoteInvalid: the message is longer than the peer's posted receive, the peer has
	// no such region for this endpoint, or it breaks the rules of this package.
	StatusRemoteInvalid
	// StatusUnresponsive: nothing was heard of the peer for Config.Unresponsive.
	StatusUnresponsive
	// StatusReset: the peer restarted or ended the session when the request was under way.
	StatusReset
	// StatusFlushed: this end closed the handle or the endpoint.
	StatusFlushed
	// StatusTimedOut: the deadline has passed.
	StatusTimedOut
	// NumStatus is the number of statuses.
	NumStatus
)

var statusNames = [NumStatus]string{
	"ok", "bad destination", "receiver not ready", "remote invalid", "remote unresponsive", "reset by the peer", "flushed", "timed out",
}

// String returns the status in words.
func (s Status) String() string {
	if s < NumStatus {
		return statusNames[s]
	}
	return "unknown"
}

// Error implements error.
func (s Status) Error() string { return "ep: " + s.String() }

// Err returns nil for StatusOK, otherwise the status.
func (s Status) Err() error {
	if s == StatusOK {
		return nil
	}
	return s
}
