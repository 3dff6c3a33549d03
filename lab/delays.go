package lab

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HostModel models the machine on which the transport runs. An ideal host reacts without delay.
// Ideal hosts have open connections and probed paths before time zero. Other hosts model the
// daemon, which is a process that wakes with a delay and needs processor time for each packet. On
// these hosts no path is open at time zero.
type HostModel struct {
	Name string
	// delays holds the delays of the process, or nil for an ideal host.
	delays *delays
}

// Ideal is the host without delays, such as a network interface that implements the transport in
// hardware.
var Ideal = &HostModel{Name: "ideal"}

// usualHosts lists the host models that are used if a plan names none. It is the daemon, because
// the daemon is the product.
var usualHosts = []string{"daemon"}

// recorded maps host names in plans to tables that "bench hostdelay" recorded.
var recorded = map[string]string{
	"daemon":      "hosts/idle.txt", // an otherwise idle machine
	"daemon-busy": "hosts/busy.txt", // busy-looping processes on both of its processors
	"daemon-20us": "hosts/20us.txt", // not recorded: a process that never wakes more than 20 us late
}

//go:embed hosts/*.txt
var hostFiles embed.FS

// HostNamed returns the host model with the given name.
func HostNamed(name string) (*HostModel, error) {
	if name == Ideal.Name {
		return Ideal, nil
	}
	file, ok := recorded[name]
	if !ok {
		return nil, fmt.Errorf("host %q is not known, want ideal, daemon, daemon-busy or daemon-20us", name)
	}
	text, err := hostFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d, err := parseDelays(path.Base(file), string(text))
	return &HostModel{Name: name, delays: d}, err
}

// delays holds the wake-up delays and the costs of a process.
type delays struct {
	timer, arrival inverse
	// The four fields are the processor times for a train, and for each packet of a train.
	sendTrain, sendPacket, receiveTrain, receivePacket time.Duration
}

// inverse is an inverse distribution function. It maps a share p to the time that a share p of all
// samples does not exceed. The shares in the table ascend from 0 to 1, and values between them are
// interpolated linearly.
type inverse []quantile

type quantile struct {
	share float64
	time  time.Duration
}

// draw returns a random time from the distribution.
func (v inverse) draw(rng *rand.Rand) time.Duration {
	u := rng.Float64()
	for i := 1; i < len(v); i++ {
		if a, b := &v[i-1], &v[i]; u <= b.share {
			return a.time + time.Duration((u-a.share)/(b.share-a.share)*float64(b.time-a.time))
		}
	}
	return v[len(v)-1].time
}

// check returns an error if v is not a distribution.
func (v inverse) check() error {
	last := len(v) - 1
	if last < 1 || v[0].share != 0 || v[last].share != 1 {
		return fmt.Errorf("quantiles from 0 to 1 are needed")
	}
	for i := range last {
		if !(v[i].share < v[i+1].share) || v[i].time < 0 || v[i].time > v[i+1].time {
			return fmt.Errorf("quantile %v does not follow %v", v[i+1].share, v[i].share)
		}
	}
	return nil
}

// mostHostDelay is the largest valid delay, which no running process reaches.
const mostHostDelay = time.Minute

// parseDelays parses a table with lines "quantile SHARE TIMER ARRIVAL" and "COST TIME".
func parseDelays(file, text string) (*delays, error) {
	d := &delays{}
	costs := map[string]*time.Duration{
		"send-train": &d.sendTrain, "send-packet": &d.sendPacket,
		"receive-train": &d.receiveTrain, "receive-packet": &d.receivePacket,
	}
	for i, l := range strings.Split(text, "\n") {
		f := strings.Fields(l)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if err := d.set(f, costs); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, v := range []inverse{d.timer, d.arrival} {
		if err := v.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return d, nil
}

// set parses the fields of one line.
func (d *delays) set(f []string, costs map[string]*time.Duration) error {
	var times []time.Duration
	from := 1
	if f[0] == "quantile" {
		from = 2
	}
	for _, s := range f[min(from, len(f)):] {
		t, err := time.ParseDuration(s)
		if err != nil || t < 0 || t > mostHostDelay {
			return fmt.Errorf("%q is no time from 0 to %v", s, mostHostDelay)
		}
		times = append(times, t)
	}
	cost := costs[f[0]]
	switch {
	case f[0] == "quantile" && len(times) == 2:
		share, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return fmt.Errorf("%q is no share", f[1])
		}
		d.timer = append(d.timer, quantile{share, times[0]})
		d.arrival = append(d.arrival, quantile{share, times[1]})
	case cost != nil && len(times) == 1:
		*cost = times[0]
	default:
		return fmt.Errorf("want \"quantile SHARE TIMER ARRIVAL\", or one of %v and a time", sortedKeys(costs))
	}
	return nil
}

func sortedKeys(m map[string]*time.Duration) (v []string) {
	for k := range m {
		v = append(v, k)
	}
	slices.Sort(v)
	return v
}
