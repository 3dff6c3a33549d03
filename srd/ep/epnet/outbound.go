package epnet

// outbound holds the unsent bytes that Write has accepted, at most bufferMost. The zero value
// of outbound is empty. The type outbound is not safe for concurrent use.
type outbound struct {
	b    []byte
	head int // number of sent bytes at the beginning of b
}

func (o *outbound) len() int { return len(o.b) - o.head }

// add appends bytes. It reuses the space of sent bytes before it allocates more memory.
func (o *outbound) add(data []byte) {
	if o.head > 0 && len(o.b)+len(data) > cap(o.b) {
		o.b = o.b[:copy(o.b, o.b[o.head:])]
		o.head = 0
	}
	o.b = append(o.b, data...)
}

// first returns the oldest n bytes. The returned bytes are valid until the next call of any
// method.
func (o *outbound) first(n int) []byte { return o.b[o.head : o.head+n] }

// drop removes the oldest n bytes.
func (o *outbound) drop(n int) {
	if o.head += n; o.head == len(o.b) {
		o.b, o.head = o.b[:0], 0
	}
}
