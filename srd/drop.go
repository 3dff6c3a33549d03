package srd

// Reason is the reason for the drop of a packet, frame or message.
type Reason uint8

// The reasons. Stats has a counter for each Reason.
const (
	DropNone              Reason = iota
	DropMalformed                // a frame was truncated or of an unknown kind
	DropReplay                   // packet number seen before, or too old
	DropDuplicate                // message already delivered
	DropMessageFar               // message number beyond the receive window
	DropSlot                     // path slot out of range
	DropPathLimit                // no slot for a path on a proven tuple: the tuple waits
	DropCandidateLimit           // packet on an unproven tuple, while too many others are in the table
	DropUnproven                 // not sent: above the anti-amplification limit of an unproven address
	DropChallenge                // challenge that gets no response, because too many arrived at once
	DropAckInvalid               // acknowledgement of a packet that was never sent
	DropSessionOld               // packet of an expired session
	DropHandshakeReplay          // initiation not newer than the last
	DropHandshakeBad             // response or cookie that fits no attempt, or does not decrypt
	DropHandshakeCopy            // copy of a response or initiation that was handled before
	DropIncarnation              // message that was in flight when the peer restarted
	DropClosed                   // packet with a CLOSE: the peer closed the session
	DropCookieUnsolicited        // cookie from a tuple on which no attempt was sent
	DropLiar                     // initiation of a peer that has recently lied (type liar)
	DropProtocol                 // handshake with a peer that speaks another protocol
	DropWithdrawn                // packet from a withdrawn address, while another address works
	DropCipher                   // initiation of a peer that has no cipher in common with this end
	DropCallLimit                // handshake or challenge not sent: Config.Afford refused
	NumReasons
)

var reasonNames = [NumReasons]string{
	"none", "malformed", "replay", "duplicate_message", "message_beyond_window", "bad_slot",
	"path_limit", "candidate_limit", "unproven_address", "challenge_limit", "invalid_ack", "session_expired", "handshake_replay", "handshake_mismatch", "handshake_copy",
	"peer_restarted", "closed", "stray_cookie", "liar_waits", "other_protocol",
	"endpoint_removed", "no_common_cipher", "call_limit",
}

// Meant reports whether drops for this reason are normal on a working connection. A message
// that seems lost is sent again, so it may arrive twice. A handshake packet is sent on
// several paths, and all copies but the first are dropped. A CLOSE from the peer is the
// regular end of a session.
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
