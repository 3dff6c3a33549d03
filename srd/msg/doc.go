// Package msg has tagged messages over endpoints of package ep: the messaging layer that MPI
// and other runtimes expect above a transport without order. The API is v0: it may change.
//
// # Model
//
// An Endpoint sends and receives messages of up to 1 GiB. Each message has a tag of 64 bits.
// Receive posts a buffer for one message. Its Match says which: from one peer or any, with a
// tag whose bits outside of a mask are equal. A message takes the oldest receive that matches
// it. If there is none, it is unexpected and waits. A new receive takes the oldest unexpected
// message that matches.
//
// Messages have no order, unless Options.Ordered asks for it. The ordered messages to a peer
// are matched in the order in which they were sent. One that failed is left out; if it comes
// nevertheless, it has no order. The bytes of a long message may arrive
// later than those of its successor, so completions have no order.
//
// A short message is eager: its bytes are sent at once. Of a message longer than Config.Eager
// only an offer is sent. When a receive has matched, the receiver reads the bytes from the
// sender's memory into the buffer, without a copy between, and tells the sender. So the
// sender's completion says of a short message that the peer's endpoint has it, and of a long
// one that the bytes were read, or are not wanted. The sender's buffer belongs to the endpoint
// until then. No peer ever writes to this program's memory, and it reads what is sent to it. A
// peer that offers bytes and does not send them keeps a receive for a minute.
//
// Peek and Claim look at unexpected messages. Cancel takes back a receive that has not matched.
// ReceiveMulti posts one buffer for many messages.
//
// # Bounds
//
// A peer may have Config.Unexpected messages here that no receive has taken, and 256 that are
// held back because an ordered message before them is missing: with the defaults at most 4 MiB.
// Its other messages wait at their sender, as if no receive were posted. Other peers notice
// nothing of it. Answers for long messages are not held up.
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
// The protocol's name is that of the program with " over srd/msg 1" behind. Each frame is one
// message of package ep of at most 8,192 bytes, big endian:
//
//	0 1  1: a message; 2: an offer. 0x80: ordered; 0x40: with immediate data
//	1 8  tag
//	     if ordered: 8 bytes: the epoch; 4 bytes: the number in it, from 0; 1 byte: the lowest
//	     number without a result is so many below it
//	     4 bytes of immediate data, if there are some
//	     of a message: its bytes
//	     of an offer: 4 bytes: its number; 8: the size; 8: the key of a region with the bytes
//
// Control frames have immediate data of package ep, and two bytes. About the offer of that
// number: 3 0: it was read, or is not wanted. 3 1: it is not known here. 4 0: is it still known?
// 5 0 and an epoch: the ordered messages with numbers below the immediate data come no more.
//
// A process draws an epoch for each peer. A message has a result when it was accepted or has
// failed, and the receiver waits for no number below those without one. A number is less than
// 256 above the lowest one without a result.
package msg
