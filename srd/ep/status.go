package ep

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed means that the endpoint or the handle is closed.
	ErrClosed = errors.New("ep: closed")
	// ErrTooLarge means that a message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("ep: message larger than %d bytes", MaxMessage)
	// ErrFull means that a handle has SendDepth requests without a polled completion, or
	// that ReceiveDepth receives are posted.
	ErrFull = errors.New("ep: the queue is full")
	// ErrDeadline means that a request's deadline passed before the request was queued.
	ErrDeadline = errors.New("ep: the deadline has passed")
)

// Status is the result of a work request. Each status except StatusOK is an error.
type Status uint8

// Only StatusOK says that the message arrived. After StatusReset, StatusTimedOut,
// StatusUnresponsive or StatusFlushed, the message may have arrived. After any other status, the
// message has not arrived.
const (
	// StatusOK: the responder accepted the whole message into a posted receive.
	StatusOK Status = iota
	// StatusBadDestination: the peer speaks another protocol, or has revoked this endpoint's key.
	StatusBadDestination
	// StatusNotReady: for lack of a posted receive, the peer refused the message more often than
	// the caller allows.
	StatusNotReady
	// StatusRemoteInvalid: the message is longer than the peer's posted receive, or the peer has
	// no such region for this endpoint. A peer that breaks the rules of this package also causes
	// StatusRemoteInvalid.
	StatusRemoteInvalid
	// StatusUnresponsive: the peer was silent for Config.Unresponsive.
	StatusUnresponsive
	// StatusReset: the peer restarted or ended the session before its answer.
	StatusReset
	// StatusFlushed: this end closed the handle or the endpoint.
	StatusFlushed
	// StatusTimedOut: the request's deadline has passed.
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
