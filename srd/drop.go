package srd

// Reason names why something that arrived, or was to be sent, was dropped.
type Reason uint8

// The reasons. Each is a counter in Stats.
const (
	DropNone            Reason = iota
	DropMalformed              // a frame was cut short or of unknown kind
	DropReplay                 // packet number seen before, or too old
	DropDuplicate              // message already delivered
	DropMessageFar             // message number beyond the receive window
	DropSlot                   // path slot out of range
	DropPathLimit              // proven, and no room for another path: it waits
	DropCandidateLimit         // came where the peer has not proven to be, and too many do
	DropUnproven               // not sent to an unproven address: more than came from it allows
	DropChallenge              // challenge not answered: too many at once
	DropAckInvalid             // acknowledgement of what was never sent
	DropSessionOld             // session expired
	DropHandshakeReplay        // initiation not newer than the last
	DropHandshakeBad           // response or cookie that fits no attempt
	DropHandshakeCopy          // copy of a response or initiation that was taken already
	DropIncarnation            // messages in flight when the peer restarted
	DropClosed                 // the peer closed the session
	DropCookieStray            // cookie from where nothing was sent that it could answer
	DropLiar                   // initiation of a peer that has lied, before its wait is over
	DropProtocol               // handshake with a peer that speaks another protocol
	DropWithdrawn              // came from an address that was withdrawn, while another works
	DropCallLimit              // handshake or challenge not sent: guests have sent too much
	NumReasons
)

var reasonNames = [NumReasons]string{
	"none", "malformed", "replay", "duplicate_message", "message_beyond_window", "bad_slot",
	"path_limit", "candidate_limit", "unproven_address", "challenge_limit", "invalid_ack", "session_expired", "handshake_replay", "handshake_mismatch", "handshake_copy",
	"peer_restarted", "closed", "stray_cookie", "liar_waits", "other_protocol",
	"endpoint_removed", "call_limit",
}

// Meant reports whether drops for this reason belong to a connection that is well. A message is
// repeated when it may be lost, and so may come twice. A handshake goes out on several paths,
// of which one is enough. A session that the peer closes ends in order.
func (r Reason) Meant() bool {
	switch r {
	case DropDuplicate, DropHandshakeCopy, DropClosed:
		return true
	}
	return false
}

// String returns the counter's name.
func (r Reason) String() string {
	if r < NumReasons {
		return reasonNames[r]
	}
	return "unknown"
}
