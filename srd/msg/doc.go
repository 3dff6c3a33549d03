// Package msg sends tagged messages over endpoints of package ep. MPI and other runtimes expect
// tagged messages above an unordered transport. The API is v0: it may change.
//
// # Model
//
// An Endpoint sends and receives messages of up to 1 GiB. Each message has a tag of 64 bits.
// Receive posts a buffer for one message. A Match selects the messages for the buffer by sender
// and by tag. Match.Ignore excludes bits of the tag from the comparison. A message goes into the
// oldest receive that matches it. A message without a matching receive is called unexpected, and
// waits. A new receive gets the oldest unexpected message that matches.
//
// Messages have no order by default. Messages with Options.Ordered to one peer are matched in
// the order of sending. A message whose send failed has no position in this order: if it arrives
// after all, it is matched at once. Completions have no order, because the bytes of a long
// message may arrive late.
//
// The bytes of a short message are sent at once. For a message longer than Config.Eager, the
// endpoint sends only an offer. After a receive matches, the receiver reads the bytes from the
// sender's memory directly into the buffer. The receiver then notifies the sender. So the
// completion of a short send means that the peer's endpoint has the message, and that of a long
// send means that the peer has read the bytes, or discarded the message. Until the completion,
// the sender's buffer belongs to the endpoint. Peers never write to this program's memory, and
// they read only messages sent to them. A peer that offers bytes and does not send them occupies
// a receive for at most a minute.
//
// Peek and Claim examine unexpected messages. Cancel removes a receive that has not matched.
// ReceiveMulti posts one buffer for many messages.
//
// # Bounds
//
// Each peer may have Config.Unexpected messages here that have not matched a receive. In
// addition, 256 messages of a peer may be held back because an earlier ordered message is
// missing. A long message counts until its sender has accepted the answer that its bytes were
// read. With the defaults, unexpected and held messages occupy at most 4 MiB for each peer.
// Further messages of the peer wait at their sender, as if no receive were posted. The bounds of
// one peer do not affect other peers, and do not delay answers for long messages.
//
// # Semantics beside libfabric's
//
//	libfabric                   here
//	fi_tsend, fi_trecv          Handle.Send, Receive. Buffers belong to the endpoint until the
//	                            completion, in both
//	fi_tsenddata                Options.Immediate, of four bytes
//	FI_ADDR_UNSPEC              the zero key in Match.From. FI_DIRECTED_RECV is always there
//	ignore mask                 Match.Ignore, the same
//	FI_ORDER_SAS                Options.Ordered, for each message. It is off by default; the EFA
//	                            provider always has it
//	FI_PEEK                     Peek, with its answer at once instead of a completion
//	FI_CLAIM, FI_DISCARD        Claim, Claimed.Receive, Claimed.Discard. No receive that is
//	                            posted later gets a claimed message
//	FI_MULTI_RECV               ReceiveMulti, also with tags. Its last completion is always one of
//	                            its own. A message that does not fit the rest ends the buffer
//	fi_cancel                   Cancel, of receives. Handle.Close ends sends
//	FI_ETRUNC                   ErrTruncated, with the beginning and the whole size
//	FI_ECANCELED                ErrCanceled
//	FI_TRANSMIT_COMPLETE        a short message: accepted by the peer's endpoint
//	FI_DELIVERY_COMPLETE        a long message: always
//	fi_inject                   none: wait for the completion
//	fi_send, fi_recv            a tag of the program's choice
//	unexpected messages without their bound is Config.Unexpected, for each peer
//	a bound
//	FI_PROGRESS_AUTO            always: two goroutines for an endpoint
//
// # On the wire
//
// The name of the wire protocol is the program's, followed by " over srd/msg 1". Each frame is
// one message of package ep of at most 8,192 bytes, big endian:
//
//	0 1  1: a message; 2: an offer. 0x80: ordered; 0x40: with immediate data
//	1 8  tag
//	     if ordered: 8 bytes: the epoch; 4 bytes: the number in it, from 0; 1 byte: how far the
//	     lowest number without a result is below it
//	     4 bytes of immediate data, if the flag is set
//	     in a message: its bytes
//	     in an offer: 4 bytes: its number; 8: the size; 8: the key of a region with the bytes
//
// A control frame has immediate data of package ep, and two bytes. The immediate data is the
// number of an offer:
//
//	3 0  the bytes were read, or are not wanted
//	3 1  the offer is unknown here
//	4 0  a probe: is the offer still known?
//
// The frame 5 0 has an epoch after the two bytes. It announces that ordered messages with
// numbers below its immediate data will not be sent any more.
//
// A process numbers its offers from a random number on, and draws a random epoch for each peer.
// A message has a result when the peer has accepted it, or when it has failed. The receiver does
// not wait for numbers below the lowest number without a result. A sender uses only numbers less
// than 256 above that number.
package msg
