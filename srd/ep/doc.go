// Package ep is the transport for programs: reliable, unordered messages between endpoints,
// encrypted, over many network paths at once. The API is v0: it may change.
//
// # Model
//
// An Endpoint is a program's set of sockets and threads. It has a key pair, a queue of
// posted receives, and two completion queues. One endpoint reaches any number of others.
// There are no connections to make, accept or lose: the endpoint makes a session with a
// peer when there is a message for it, and makes another when the peer has restarted.
//
// A Handle is a destination: a peer's public key and addresses where it may be. Closing it
// flushes its own requests, and touches no others.
//
// Send queues a request. The request has exactly one Completion in Sends, unless it is quiet
// and succeeds. Its Status says whether the peer accepted the message into a posted receive.
// A message arrives whole, at most once, and in no order: long messages delay no short ones,
// and a dead peer delays no other.
//
// PostReceive gives the endpoint a buffer for one message from any peer. The message is put
// together in that buffer, so peers can make the program use no other memory. A peer whose
// message finds no buffer is told so, sends no more, and goes on when a receive is posted:
// nothing is lost, unless the sender limits it by SendOptions.NotReady or by a deadline.
// Config.PeerReceives gives each peer a share of the buffers. Writes, reads and messages with
// immediate data do not wait for refused messages before them.
//
// Register opens memory to one peer: Write puts bytes there, and Read gets them, in one request
// of any size, without a receive and without the program's work. The bytes of a request
// land out of order, and its completion comes when all are there. Bounds and rights are
// checked before the first byte, and Region.Close takes the memory back at any time.
//
// A Queue returns completions in batches: Poll does not wait and does not allocate, Event is
// a channel to wait on beside others, and Wait is both. With Solicited only those messages
// make an event whose senders ask for it.
//
// # Limits
//
// A message has at most MaxMessage bytes. It is cut into pieces that every path can carry.
// Up to EagerMost bytes are sent at once. The rest follows when the peer has reserved a
// receive. SendDepth and ReceiveDepth bound the requests whose completions were not polled.
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
// The payload of a read, and of each piece of a write that begins in the first 8,192 bytes,
// begins with 16 bytes: the key of the region, and an offset in it. Pieces of what is read
// have the read's number, and answer it.
//
// In answers two bytes follow the first: how many receives were posted after a refusal. Ten
// zeros end them. The payload is a row of answers, five bytes each: the number of a request,
// and the verdict. 1: accepted; 2: a receive is reserved, send what is beyond the first
// 8,192 bytes; 3: no receive is posted; 4: the message is longer than the receive; 5: the
// sender has given up a part; 6: the sender's key was revoked; 7: there is no such region.
//
// Each verdict but 2 ends the request. A responder answers when it has all of the message,
// or all of its first 8,192 bytes, or a rest. A sender that gives up a message of which it
// has sent a part sends a rest, unless it has just sent the first 8,192 bytes: then it waits
// for the answer. At most 1,024 requests of a sender are not answered.
package ep
