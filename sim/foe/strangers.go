package foe

import (
	"fmt"
	"time"
)

// Strangers are what strangers and observers do in a run. The zero value does nothing.
type Strangers struct {
	Mute, Mail, Ports int

	Race  float64 // chance that a packet is overtaken by a copy from elsewhere
	Lure  float64 // that an initiation is, and what follows it from the same elsewhere
	Crowd float64 // that many are at once
	// Relay is the chance that what is sent to where a copy came from is passed on to
	// where the packet did, until the trouble is over: then it was a path, and dies.
	Relay     float64
	Cookies   float64 // chance that an initiation seen on its way is answered by a false cookie
	Responses float64 // or by a false response
	Floods    []Flood
}

// Flood is many packets in a short time.
type Flood struct {
	At   time.Duration
	Host int
	Kind int
	N    int
	Rate float64 // a second
}

// Kinds of floods.
const (
	FloodNoise     = iota // initiations of noise, with the right MACs
	FloodCopies           // an initiation that was seen, from everywhere
	FloodResponses        // responses of noise to an attempt that was seen
	FloodData             // data packets of noise to an index that was seen
	NumFloods
)

func (f *Strangers) String() string {
	return fmt.Sprintf("%d mute addresses, %d others, %d ports, race %.3f, lure %.2f, crowd %.2f, relay %.2f, cookies %.2f, responses %.2f, floods %+v",
		f.Mute, f.Mail, f.Ports, f.Race, f.Lure, f.Crowd, f.Relay, f.Cookies, f.Responses, f.Floods)
}
