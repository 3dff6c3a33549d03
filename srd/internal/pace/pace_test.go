package pace

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

func TestZeroBucketIsFull(t *testing.T) {
	var b Bucket
	if !b.Holds(0) {
		t.Fatal("nothing may be sent at first")
	}
	b.Refill(5, 1e6, 3000)
	if b.Tokens() != 3000 {
		t.Fatalf("%d bytes at first", b.Tokens())
	}
}

// A sender that calls at arbitrary times, and sends a train whenever it may, sends at most
// the elapsed time times `rate`, plus one burst and one train.
func TestNeverFasterThanItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e3, 1e10).Draw(t, "rate")
		burst := rapid.IntRange(1, 100_000).Draw(t, "burst")
		train := rapid.IntRange(1, 100_000).Draw(t, "train")
		var b Bucket
		now, start, sent := mono.Time(1), mono.Time(1), 0
		for range 200 {
			b.Refill(now, rate, burst)
			for b.Holds(0) {
				b.Spend(train)
				sent += train
			}
			if b.Tokens() < -train {
				t.Fatalf("%d bytes in debt after trains of %d", -b.Tokens(), train)
			}
			if most := rate*now.Sub(start).Seconds() + float64(burst+train); float64(sent) > most*1.000001+1 {
				t.Fatalf("%d bytes sent in %v, want at most %.0f", sent, now.Sub(start), most)
			}
			now += mono.Time(rapid.Int64Range(0, int64(2*time.Millisecond)).Draw(t, "wait"))
		}
	})
}

// At the time that When returns, the tokens are there, and no token of the rate is lost.
func TestWhenIsNeitherEarlyNorLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e4, 1e9).Draw(t, "rate")
		quantum := rapid.IntRange(1, 3000).Draw(t, "quantum")
		var b Bucket
		now, start, sent := mono.Time(1e9), mono.Time(1e9), 0
		b.Refill(now, rate, 4000)
		for range 100 {
			for b.Holds(0) {
				n := rapid.IntRange(1, 9000).Draw(t, "bytes")
				b.Spend(n)
				sent += n
			}
			at := b.When(rate, quantum)
			if at < now {
				t.Fatalf("to come back %v ago", now.Sub(at))
			}
			now = at
			b.Refill(now, rate, 4000)
			// Rounding the time loses the tokens of at most one nanosecond.
			if left := b.Tokens(); math.Abs(float64(left-quantum)) > rate/1e9+2 {
				t.Fatalf("%d bytes at the time told, want %d", left, quantum)
			}
		}
		ideal := float64(sent-4000) / rate
		if took := now.Sub(start).Seconds(); took > ideal+float64(quantum+4000)/rate+1e-6 {
			t.Fatalf("%d bytes took %v s, want %v s", sent, took, ideal)
		}
	})
}

func TestTimeThatStandsStillGivesNothing(t *testing.T) {
	var b Bucket
	b.Refill(7, 1e9, 1000)
	b.Spend(1500)
	b.Refill(7, 1e9, 1000)
	b.Refill(3, 1e9, 1000)
	if b.Tokens() != -500 || b.Holds(0) {
		t.Fatalf("%d bytes", b.Tokens())
	}
	if at := b.When(0, 100); at != 7 {
		t.Fatalf("without a rate to come back at %d", at)
	}
}

// In a long pause the bucket fills up to one burst. If the burst becomes smaller, the
// tokens above it are removed.
func TestRestSavesOneBurst(t *testing.T) {
	var b Bucket
	b.Refill(1, 1e9, 5000)
	b.Spend(5000)
	b.Refill(mono.Time(time.Hour), 1e9, 5000)
	if b.Tokens() != 5000 {
		t.Fatalf("%d bytes after an hour", b.Tokens())
	}
	if b.Refill(mono.Time(time.Hour), 1e9, 2000); b.Tokens() != 2000 {
		t.Fatalf("%d bytes of a burst of 2000", b.Tokens())
	}
}
