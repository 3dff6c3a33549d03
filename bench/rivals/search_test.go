package rivals

import (
	"errors"
	"testing"
)

// limited imitates a tunnel that loses all packets above the rate `tunnel`, and a sender that
// cannot exceed the rate `sender`.
func limited(tunnel, sender float64, trials *int) func(float64) (trial, error) {
	return func(offer float64) (trial, error) {
		*trials++
		rate := min(offer, sender)
		return trial{rate, max(0, 1-tunnel/rate)}, nil
	}
}

func TestLosslessFindsTheLimit(t *testing.T) {
	for _, limit := range []float64{1_500, 24_000, 25_000, 26_000, 49_900, 118_000, 790_000, 3_000_000} {
		trials := 0
		got, err := lossless(limited(limit, mostRate, &trials))
		// At a rate just above the limit, less than a thousandth of the packets is lost, so the
		// result may exceed the limit slightly.
		if err != nil || got < 0.95*limit || got > 1.002*limit {
			t.Errorf("limit %v: found %v, %v", limit, got, err)
		}
		if most := 2 * (12 + refineSteps); trials > most {
			t.Errorf("limit %v: %d trials, more than %d", limit, trials, most)
		}
	}
}

func TestLosslessEndsAtTheSender(t *testing.T) {
	trials := 0
	got, err := lossless(limited(mostRate, 130_000, &trials))
	if err != nil || got < 0.95*130_000 || got > 130_000 {
		t.Errorf("found %v, %v where the sender reaches 130,000", got, err)
	}
}

func TestLosslessFindsNothing(t *testing.T) {
	trials := 0
	if got, err := lossless(limited(1, mostRate, &trials)); got != 0 || err != nil {
		t.Errorf("found %v, %v where all is lost", got, err)
	}
}

// In TestLosslessTriesAgain the first attempt at each rate loses packets, and above the limit every
// attempt does.
func TestLosslessTriesAgain(t *testing.T) {
	const limit = 100_000
	failed := map[float64]bool{}
	got, err := lossless(func(offer float64) (trial, error) {
		if first := !failed[offer]; first || offer > limit {
			failed[offer] = true
			return trial{offer, 0.5}, nil
		}
		return trial{offer, 0}, nil
	})
	if err != nil || got < 0.95*limit || got > limit {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestLosslessReportsErrors(t *testing.T) {
	broken := errors.New("broken")
	for n := range 8 {
		trials := 0
		tunnel := limited(60_000, mostRate, new(int))
		_, err := lossless(func(offer float64) (trial, error) {
			if trials++; trials > n {
				return trial{}, broken
			}
			return tunnel(offer)
		})
		if !errors.Is(err, broken) {
			t.Errorf("an error at trial %d is lost: %v", n+1, err)
		}
	}
}
