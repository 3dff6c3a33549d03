package ep

import "slices"

// fifo is a queue that keeps its memory when it is empty.
type fifo[T comparable] struct {
	v    []T
	head int
}

func (f *fifo[T]) len() int  { return len(f.v) - f.head }
func (f *fifo[T]) first() T  { return f.v[f.head] }
func (f *fifo[T]) last() T   { return f.v[len(f.v)-1] }
func (f *fifo[T]) rest() []T { return f.v[f.head:] }

func (f *fifo[T]) push(r T) {
	if f.head > 0 && len(f.v) == cap(f.v) {
		n := copy(f.v, f.rest())
		clear(f.v[n:])
		f.v, f.head = f.v[:n], 0
	}
	f.v = append(f.v, r)
}

func (f *fifo[T]) pop() T {
	r := f.first()
	var none T
	f.v[f.head] = none
	if f.head++; f.head == len(f.v) {
		f.v, f.head = f.v[:0], 0
	}
	return r
}

func (f *fifo[T]) remove(r T) {
	if i := slices.Index(f.rest(), r); i == 0 {
		f.pop()
	} else if i > 0 {
		f.v = slices.Delete(f.v, f.head+i, f.head+i+1)
	}
}
