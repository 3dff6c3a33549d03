package rivals

import "math"

// These constants bound the search for a rate, in packets per second. The search doubles the rate
// until packets are lost. Then each of refineSteps steps halves the interval between the best rate
// and the lowest lossy rate, on a logarithmic scale. The final ratio of the two rates is 2^(1/16).
// This is 4 %, which is less than the difference between two runs.
const (
	firstRate   = 25_000.0
	mostRate    = 3_200_000.0 // above the rate of any compared program
	leastRate   = 1_000.0     // a tunnel that carries less does not work
	refineSteps = 4
	// tries is the number of failed attempts after which a rate counts as lossy. The machine may do
	// other work for some milliseconds, so one failed attempt does not show the tunnel's limit.
	tries = 2
)

// trial is the result of one attempt to send at a given rate.
type trial struct {
	rate float64 // packets per second that were really sent
	loss float64 // share of these packets that did not arrive
}

// mostLoss is the loss up to which a rate counts as lossless.
const mostLoss = 0.001

// reachedShare is the share of the intended rate that a sender must reach. If it stays below, the
// sender itself is the bottleneck. Then the reached rate is the result, and no higher rate is
// tried.
const reachedShare = 0.95

// lossless searches for the highest rate without loss. It returns 0 if packets are lost even at
// leastRate.
func lossless(try func(offer float64) (trial, error)) (best float64, err error) {
	passes := func(offer float64) (bool, error) {
		for range tries {
			t, err := try(offer)
			if err != nil {
				return false, err
			}
			if t.loss <= mostLoss {
				best = max(best, t.rate)
				if t.rate >= reachedShare*offer {
					return true, nil
				}
			}
		}
		return false, nil
	}
	low, high, err := bracket(passes)
	for range refineSteps {
		if err != nil || low == 0 || high == 0 {
			break
		}
		middle := math.Sqrt(low * high)
		var ok bool
		if ok, err = passes(middle); ok {
			low = middle
		} else {
			high = middle
		}
	}
	return best, err
}

// bracket finds a lossless rate whose double is lossy. A rate of 0 means that every rate within the
// bounds is lossy.
func bracket(passes func(float64) (bool, error)) (low, high float64, err error) {
	ok, err := passes(firstRate)
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		for high = firstRate; high > leastRate; high /= 2 {
			if ok, err = passes(high / 2); ok || err != nil {
				return high / 2, high, err
			}
		}
		return 0, high, nil
	}
	for low = firstRate; 2*low <= mostRate; low *= 2 {
		if ok, err = passes(2 * low); !ok || err != nil {
			return low, 2 * low, err
		}
	}
	return low, 0, nil
}
