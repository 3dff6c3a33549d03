package epnet

// outbound holds the bytes that Write has taken and that were not sent, at most bufferMost. Its
// zero value is empty. It is not safe for concurrent use.
type outbound struct {
	b    []byte
	head int // bytes of b that were sent
}

func (o *outbound) len() int { return len(o.b) - o.head }

// add appends bytes. What was sent makes room before more memory is taken.
func (o *outbound) add(data []byte) {
	if o.head > 0 && len(o.b)+len(data) > cap(o.b) {
		o.b = o.b[:copy(o.b, o.b[o.head:])]
		o.head = 0
	}
	o.b = append(o.b, data...)
}

// first returns the oldest n bytes, until the next call.
func (o *outbound) first(n int) []byte { return o.b[o.head : o.head+n] }

// drop removes the oldest n bytes.
func (o *outbound) drop(n int) {
	if o.head += n; o.head == len(o.b) {
		o.b, o.head = o.b[:0], 0
	}
}
