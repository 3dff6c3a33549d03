// Package ep is the transport for programs: reliable, unordered messages between endpoints,
// encrypted, over many network paths at once. The API is v0: it may change.
//
// # Model
//
// An Endpoint is a program's set of sockets and threads. It has a key pair, a queue of posted
// receives, and two completion queues. One endpoint reaches any number of others. There are no
// connections to make, accept or lose. The endpoint makes a session with a peer for the first
// message, and another one after the peer restarts.
//
// A Handle is a destination: a peer's public key and its possible addresses. Closing it flushes
// its own requests, and no others.
//
// Send queues a request. The request has exactly one Completion in Sends, unless it is quiet and
// succeeds. Its Status says whether the peer accepted the message into a posted receive. A
// message arrives whole, at most once, and in no order. Long messages delay no short ones, and a
// dead peer delays no other.
//
// PostReceive gives the endpoint a buffer for one message from any peer. The endpoint reassembles
// the message in that buffer, so peers cannot make the program use other memory. If a message
// finds no buffer, its sender gets a refusal, stops, and resumes after a receive is posted. So no
// message is lost, unless the sender sets SendOptions.NotReady or a deadline. Config.PeerReceives
// gives each peer a share of the buffers. Refused messages do not delay writes, reads, or
// messages with immediate data.
//
// Register opens memory to one peer. Write puts bytes there, and Read gets them. One request has
// any size, and needs neither a receive nor the program's work. The bytes of a request arrive out
// of order, and its completion comes after all of them. Bounds and rights are checked before the
// first byte. Region.Close takes the memory back at any time.
//
// A Queue returns completions in batches. Poll neither waits nor allocates. Event returns a
// channel to select on. Wait does both. With Solicited, a message makes an event only if its
// sender asks for it.
//
// # Limits
//
// A message has at most MaxMessage bytes. It is cut into pieces that every path can carry. Up to
// EagerMost bytes are sent at once. The rest follows after the peer has reserved a receive.
// SendDepth and ReceiveDepth bound the requests and receives without polled completions.
//
// # Above the transport
//
// Each piece is a message of package srd. Its immediate has 13 bytes, big endian:
//
//	0  1  low four bits: 1: a piece; 2: answers; 3: the rest of the message, without its bytes;
//	      4: a read; 5: a piece of what is read
//	      0x80: the message begins with four bytes of immediate data; 0x40: it is solicited;
//	      0x20: it is written to a region
//	1  4  number of the request, counted by its sender
//	5  3  bytes of the whole message
//	8  3  offset of the piece in it
//	11 2  bytes of the piece; zero for the rest and for a read
//
// The payload of a read begins with 16 bytes: the key of a region, and an offset in it. So does
// each piece of a write that begins in the first 8,192 bytes. A reply to a read has the read's
// number, and serves as its answer.
//
// In a message of answers, two bytes after the first one hold the number of receives posted after
// a refusal. The other ten bytes are zero. The payload has five bytes for each answer: the number
// of a request, and a verdict. The verdicts are
//
//	1  accepted
//	2  a receive is reserved: send the bytes beyond the first 8,192
//	3  no receive is posted
//	4  the message is longer than the receive
//	5  the sender has given up a part
//	6  the sender's key was revoked
//	7  there is no such region
//
// Each verdict but 2 ends the request. A responder answers after the whole message, after all of
// its first 8,192 bytes, or after a piece of kind 3 (the rest without its bytes). A sender
// that gives up a begun message sends a piece of kind 3. If it has just sent the first 8,192
// bytes, it waits for the answer instead. A sender has at most 1,024 unanswered requests.
package ep
