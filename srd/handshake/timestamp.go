package handshake

import (
	"bytes"
	"encoding/binary"
	"time"
)

// TimestampSize is the length of a timestamp in bytes.
const TimestampSize = 12

// tai64Epoch is the label of 1970-01-01 00:00:10 TAI, the Unix epoch (Bernstein, "TAI64, TAI64N,
// and TAI64NA").
const tai64Epoch = 1<<62 + 10

// Timestamp is a TAI64N label without leap seconds: eight bytes of seconds and four of
// nanoseconds, big endian. So of two labels the later one is greater when their bytes are
// compared. The zero value of Timestamp means "none" and is earlier than every label.
type Timestamp [TimestampSize]byte

// TimestampOf returns the label of t. Labels are in the order of their wall clock times. The
// caller must not use a label twice.
func TimestampOf(t time.Time) Timestamp {
	var ts Timestamp
	binary.BigEndian.PutUint64(ts[:8], uint64(tai64Epoch+t.Unix()))
	binary.BigEndian.PutUint32(ts[8:], uint32(t.Nanosecond()))
	return ts
}

// After reports whether ts is later than u.
func (ts Timestamp) After(u Timestamp) bool { return bytes.Compare(ts[:], u[:]) > 0 }
