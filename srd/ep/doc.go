// Package ep is the transport for programs: reliable, unordered messages between endpoints,
// encrypted, over many network paths at once. The API is v0: it may change.
//
// # Model
//
// An Endpoint is a program's set of sockets and threads. An Endpoint has a key pair, a queue of
// posted receives, and two completion queues. One Endpoint reaches any number of peers. Programs
// do not make, accept or lose connections. The endpoint begins a session with a peer for the
// first message. After the peer restarts, the endpoint begins a new session with it.
//
// A Handle is a destination: a peer's public key and its possible addresses. Closing a Handle
// ends only the requests of that Handle, with StatusFlushed.
//
// Send queues a request. Each request gets exactly one Completion in the queue of
// Endpoint.Sends. A request with SendOptions.Quiet that succeeds gets no Completion.
// Completion.Status says whether the peer accepted the message into a posted receive. Messages
// arrive whole, at most once, and in any order. A long message does not delay short messages. A
// dead peer does not delay messages to other peers.
//
// PostReceive gives the endpoint a buffer for one message from any peer. The endpoint
// reassembles the message in that buffer, so peers cannot make the program use other memory. If
// no buffer is posted for a message, the endpoint refuses the message. The sender of a refused
// message stops, and resumes after the receiver posts a buffer. So no message is lost, unless
// the sender sets SendOptions.NotReady or a deadline. Config.PeerReceives limits the buffers
// that the messages of one peer occupy. Refused messages do not delay writes, reads, or messages
// with immediate data.
//
// Register lets one peer access a buffer of the program. Write copies bytes into a peer's
// registered buffer, and Read copies bytes from it. One write or read may have up to MaxMessage
// bytes. Writes and reads need no posted receive and no work of the peer's program. The bytes of
// a request may arrive in any order, and its completion comes after all of them. The endpoint
// checks bounds and rights before the first byte is copied. Region.Close ends the peer's access
// at any time.
//
// A Queue returns completions in batches. Queue.Poll neither waits nor allocates. Queue.Event
// returns a channel for a select statement. Queue.Wait waits and then polls. After
// Queue.Solicited(true), a message causes an event only if its sender set SendOptions.Solicited.
//
// # Limits
//
// A message has at most MaxMessage bytes. The endpoint cuts a message into pieces that every
// path can carry. The first EagerMost bytes are sent at once. The other bytes follow after the
// peer has reserved a receive. Config.SendDepth and Config.ReceiveDepth bound the requests and
// receives without polled completions.
//
// # Above the transport
//
// Each piece is a message of package srd, whose 13 bytes of immediate are, big endian:
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
// The payload of a read begins with 16 bytes: the key of a region, and an offset in it. The key
// and the offset also begin each piece of a write in its first 8,192 bytes. A reply to a read
// has the read's number, and serves as its answer.
//
// In a message of answers, bytes 1 and 2 of the immediate are the number of receives that were
// posted after a refusal, and its last ten bytes are zero. The payload of a message of answers
// has five bytes for each answer: the number of a request, and a verdict, which is the result of
// the request. The verdicts are
//
//	1  accepted
//	2  a receive is reserved: send the bytes beyond the first 8,192
//	3  no receive is posted
//	4  the message is longer than the receive
//	5  the sender has given up a part
//	6  the sender's key was revoked
//	7  there is no such region
//
// Each verdict except 2 ends the request. A responder sends an answer when the whole message has
// arrived, when all of its first 8,192 bytes have arrived, or after a piece of kind 3. A sender
// that gives up a message after its first piece sends a piece of kind 3. But a sender that has
// sent exactly the first 8,192 bytes waits for the answer, and sends no piece of kind 3. A
// sender has at most 1,024 unanswered requests.
package ep
