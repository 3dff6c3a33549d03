// Package msg sends tagged messages over endpoints of package ep. It is the messaging layer that
// MPI and other runtimes expect above an unordered transport. The API is v0: it may change.
//
// # Model
//
// An Endpoint sends and receives messages of up to 1 GiB. Each message has a tag of 64 bits.
// Receive posts a buffer for one message. Its Match selects the sender, or any, and the tag,
// apart from the bits of a mask. A message takes the oldest receive that matches it. If there is
// none, the message is unexpected and waits. A new receive takes the oldest unexpected message
// that matches.
//
// Messages have no order unless Options.Ordered asks for it. Ordered messages to a peer are
// matched in the order of sending. A failed message is not part of this order. If it arrives
// after all, it has no order. Completions have no order, because the bytes of a long message may
// arrive late.
//
// A short message is eager: its bytes are sent at once. A message longer than Config.Eager sends
// only an offer. After a receive matches, the receiver reads the bytes from the sender's memory
// directly into the buffer. Then it notifies the sender. So the completion of a short send means
// that the peer's endpoint has the message. The completion of a long send means that the peer has
// read the bytes, or does not want them. Until then the sender's buffer belongs to the endpoint.
// Peers never write to this program's memory, and they read only messages sent to them. A peer
// that offers bytes and does not send them occupies a receive for a minute.
//
// Peek and Claim examine unexpected messages. Cancel takes back a receive that has not matched.
// ReceiveMulti posts one buffer for many messages.
//
// # Bounds
//
// A peer may have Config.Unexpected messages here that no receive has taken. In addition, 256 of
// its messages may be held back because an earlier ordered message is missing. With the defaults
// this is at most 4 MiB. Its other messages wait at their sender, as if no receive were posted.
// Other peers are not affected, and answers for long messages are not delayed.
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
// The protocol's name is the program's, followed by " over srd/msg 1". Each frame is one message
// of package ep of at most 8,192 bytes, big endian:
//
//	0 1  1: a message; 2: an offer. 0x80: ordered; 0x40: with immediate data
//	1 8  tag
//	     if ordered: 8 bytes: the epoch; 4 bytes: the number in it, from 0; 1 byte: the lowest
//	     number without a result is so many below it
//	     4 bytes of immediate data, if there are some
//	     of a message: its bytes
//	     of an offer: 4 bytes: its number; 8: the size; 8: the key of a region with the bytes
//
// A control frame has immediate data of package ep, and two bytes. The immediate data is the
// number of an offer:
//
//	3 0  the bytes were read, or are not wanted
//	3 1  the offer is unknown here
//	4 0  is the offer still known?
//
// The frame 5 0 has an epoch after the two bytes. It says that ordered messages with numbers
// below the immediate data will not come any more.
//
// A process draws an epoch for each peer. A message has a result after it was accepted or has
// failed. The receiver does not wait for numbers below the lowest one without a result. All
// numbers are less than 256 above that one.
package msg
