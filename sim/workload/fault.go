package workload

import (
	"strings"
	"time"
)

// Faults is a fault plan in the words of the REPS artifact (Bonato et al.,
// "REPS: Recycled Entropy Packet Spraying", EuroSys).
type Faults struct {
	Fail CableFault
	BER  CableFault
}

// CableFault is one kind of fault, as the artifact's failuregenerator.cpp takes it.
// Fail: from Start on a cable from a leaf up to a switch above dies for good each Period,
// in that direction only, until Most of them have; one does at least. It is the one that
// the next packet comes to. BER: from Start on packets are spoilt on their way, a share of
// Most on each cable and no two within Period, and dropped where that is noticed, at the
// receiver.
type CableFault struct {
	On            bool
	Start, Period time.Duration
	Most          float64 // 0 to 1
}

// ParseFaults reads a fault plan: lines "KEY: VALUE", times in picoseconds.
func ParseFaults(file, text string) (*Faults, error) {
	f := &Faults{}
	for _, l := range split(file, text) {
		if err := l.alone(2); err != nil {
			return nil, err
		}
		key, ok := strings.CutSuffix(l.fields[0], ":")
		if !ok {
			return nil, l.errorf("%q: want KEY: VALUE", l.fields[0])
		}
		c, rest := &f.Fail, ""
		switch {
		case strings.HasPrefix(key, "Cable-Fail"):
			rest = key[len("Cable-Fail"):]
		case strings.HasPrefix(key, "Cable-BER"):
			c, rest = &f.BER, key[len("Cable-BER"):]
		default:
			return nil, l.errorf("unknown key %q", key)
		}
		if err := c.set(l, key, rest); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (c *CableFault) set(l line, key, rest string) error {
	var n int64
	var err error
	switch rest {
	case "":
		switch l.fields[1] {
		case "ON":
			c.On = true
		case "OFF":
			c.On = false
		default:
			err = l.errorf("%s: %q is neither ON nor OFF", key, l.fields[1])
		}
	case "-Start-After":
		n, err = l.count(1, 0, 1<<62)
		c.Start = time.Duration(n / 1000)
	case "-Period":
		n, err = l.count(1, 0, 1<<62)
		c.Period = time.Duration(n / 1000)
	case "-Max-Percent":
		c.Most, err = l.real(1, 0, 1)
	default:
		err = l.errorf("unknown key %q", key)
	}
	return err
}
