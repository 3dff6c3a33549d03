package meter

import (
	"net"
	"testing"
	"time"
)

// A sink must record each complete transfer of a connection once, even if other connections send
// invalid data. It must not record an incomplete transfer.
func TestSinkNotesTransfers(t *testing.T) {
	s, err := NewSink(0, 3)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	taken := make(chan struct{})
	go func() { s.take(b); close(taken) }()
	Send(a, 1, sinkChunk+100_000)
	Send(a, 0, 0)
	Send(a, 1, 5)
	Send(a, 7, 5)                                                                     // an unexpected number
	if _, err := a.Write([]byte{0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 1}); err != nil { // one byte of nine
		t.Error(err)
	}
	a.Close()
	<-taken
	if !s.Wait(2, time.Second) || s.Wait(1, time.Millisecond) {
		t.Error("want two transfers")
	}
	if s.Ended(0).Before(s.Ended(1)) || s.Ended(1).IsZero() || !s.Ended(2).IsZero() {
		t.Errorf("they ended at %v, %v and %v", s.Ended(0), s.Ended(1), s.Ended(2))
	}
}
