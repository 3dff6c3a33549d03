package workload

import (
	"math"
	"strings"
	"time"
)

// Faults is a fault plan of the REPS artifact, in either of its versions (Bonato et al., EuroSys
// 2025).
type Faults struct {
	Cable, Switch, NIC Faulty
	// Drop is the probability with which the network drops each packet.
	Drop float64
	// Stop is the time after which no new faults begin, and 0 means never.
	Stop time.Duration
}

// Faulty describes the faults of one kind of device, as in the artifact's failuregenerator.cpp. A
// fault begins at Start, and affects one more device each Period, up to the share Most of all
// devices. The next device to fail is the one that the next packet reaches.
type Faulty struct {
	// Because of Fail or WorstCase, a device forwards no packets for the time For. A failing cable
	// fails in one direction only.
	Fail, WorstCase Element
	// With Degradation, a cable loses lanes and thus packets, and a switch or an interface loses
	// packets and most of its rate.
	Degradation Element
	// With BER, each device corrupts the share Most of its packets, but no two packets within
	// Period. The receiver detects and drops corrupted packets.
	BER Element
	// With PeriodicLoss, Burst packets are dropped after every Gap packets that pass.
	PeriodicLoss Element
}

// Element is one fault of one kind of device.
type Element struct {
	On            bool
	Start, Period time.Duration
	Most          float64       // share of all devices, from 0 to 1
	For           time.Duration // 0 means minutes, which is longer than any run
	Percent       float64       // part of the rate that degradation takes; 0: all but 1 kbit/s
	Burst, Gap    int           // numbers of packets

	timed bool // For is valid
}

// ParseFaults parses a fault plan, whose lines have a key, a colon and a value, with times in
// picoseconds.
func ParseFaults(file, text string) (*Faults, error) {
	f := &Faults{}
	drop := false
	rate := 0.0
	for _, l := range split(file, text) {
		if err := l.alone(2); err != nil {
			return nil, err
		}
		key, ok := strings.CutSuffix(l.fields[0], ":")
		if !ok {
			return nil, l.errorf("%q: want KEY: VALUE", l.fields[0])
		}
		var err error
		switch e, rest := f.element(key); {
		case e != nil:
			err = e.set(l, key, rest)
		case key == "Random-Packet-Drop":
			drop, err = l.on(key)
		case key == "Random-Packet-Drop-Rate":
			rate, err = l.real(1, 0, mostExponent)
		case key == "Stop-Failures-After":
			f.Stop, err = l.picoseconds()
		default:
			err = l.errorf("unknown key %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if drop {
		f.Drop = math.Pow(10, -rate)
	}
	for _, g := range []*Faulty{&f.Cable, &f.Switch, &f.NIC} {
		if !g.Fail.timed {
			g.Fail.For = 0
		}
		g.WorstCase.For = g.Fail.For // one version of the format has a single key for both
	}
	return f, nil
}

// A rate of ten to the power of minus mostExponent affects less than one packet in any run.
const mostExponent = 15

// element returns the fault element that a key names, and the remainder of the key.
func (f *Faults) element(key string) (e *Element, rest string) {
	for _, g := range []struct {
		name string
		of   *Faulty
	}{{"Cable", &f.Cable}, {"Switch", &f.Switch}, {"NIC", &f.NIC}} {
		rest, ok := strings.CutPrefix(key, g.name)
		if !ok {
			continue
		}
		for _, k := range []struct {
			name string
			of   *Element
		}{
			{"-Fail", &g.of.Fail}, {"-Worst-Case", &g.of.WorstCase}, {"-Degradation", &g.of.Degradation},
			{"-BER", &g.of.BER}, {"-Periodic-Packet-Loss", &g.of.PeriodicLoss},
		} {
			if rest, ok := strings.CutPrefix(rest, k.name); ok {
				return k.of, rest
			}
		}
	}
	return nil, ""
}

func (e *Element) set(l line, key, rest string) error {
	var n int64
	var err error
	switch rest {
	case "":
		e.On, err = l.on(key)
	case "-Start-After":
		e.Start, err = l.picoseconds()
	case "-Period":
		e.Period, err = l.picoseconds()
	case "-Max-Percent":
		e.Most, err = l.real(1, 0, 1)
	case "-Percent":
		e.Percent, err = l.real(1, 0, 1)
	case "-Duration":
		e.timed, err = l.on(key)
	case "-Duration-Time":
		e.For, err = l.picoseconds()
	case "-PktNr":
		n, err = l.count(1, 0, mostPackets)
		e.Burst = int(n)
	case "-Drop-Period":
		n, err = l.count(1, 0, mostPackets)
		e.Gap = int(n)
	default:
		err = l.errorf("unknown key %q", key)
	}
	return err
}

// mostPackets exceeds the number of packets that any link carries.
const mostPackets = 1 << 40

// on parses the value ON or OFF.
func (l *line) on(key string) (bool, error) {
	switch l.fields[1] {
	case "ON":
		return true, nil
	case "OFF":
		return false, nil
	}
	return false, l.errorf("%s: %q is neither ON nor OFF", key, l.fields[1])
}

// picoseconds parses a time in picoseconds.
func (l *line) picoseconds() (time.Duration, error) {
	n, err := l.count(1, 0, 1<<62)
	return time.Duration(n / 1000), err
}
