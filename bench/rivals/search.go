package rivals

import "math"

// The bounds of the search for a rate, in packets a second. It doubles from the
// first rate on until packets are lost, and then halves the factor between the
// best and the least lossy rate refineSteps times: to 2^(1/16), 4 %, which is
// less than two runs differ by.
const (
	firstRate   = 25_000.0
	mostRate    = 3_200_000.0 // above what a program can send here
	leastRate   = 1_000.0     // a tunnel that carries less does not work
	refineSteps = 4
	// tries is how often a rate may fail: a pause of some milliseconds in which
	// the machine did something else is not the tunnel's limit.
	tries = 2
)

// trial is what one attempt to send at an offered rate gave.
type trial struct {
	rate float64 // packets a second that were sent in fact
	loss float64 // share of them that did not arrive
}

// mostLoss is the loss up to which a rate counts as lossless.
const mostLoss = 0.001

// reachedShare is the share of the offered rate below which the sender could not
// keep up. What it reached counts, but a higher rate is not tried.
const reachedShare = 0.95

// lossless searches the highest rate that is sent without loss, and returns 0 if
// there is none from leastRate on.
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

// bracket finds a rate that passes and its double that does not. A rate of 0
// means that there is none within bounds.
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
