package foe

import (
	"fmt"
	"time"
)

// Strangers describes the attacks of strangers and observers in a run. The zero value of Strangers
// describes a run without attacks.
type Strangers struct {
	Mute, Mail, Ports int

	Race  float64 // chance that a copy of a packet from another address overtakes it
	Lure  float64 // chance that copies from one address overtake an initiation and the next packets
	Crowd float64 // chance that copies of an initiation are sent from many addresses at once
	// Relay is the chance that the tap relays packets between the address of an overtaking copy and
	// the packet's source. The tap relays these packets until the faults of the run end. The
	// relayed path thus works at first, and then fails.
	Relay     float64
	Cookies   float64 // chance that the tap answers an initiation with a false cookie
	Responses float64 // chance that the tap answers an initiation with a false response
	Floods    []Flood
}

// Flood describes a large number of packets in a short time.
type Flood struct {
	At   time.Duration
	Host int
	Kind int
	N    int
	Rate float64 // packets a second
}

// These constants are the kinds of floods.
const (
	FloodNoise     = iota // forged initiations with valid MACs
	FloodCopies           // copies of a captured initiation, from many addresses
	FloodResponses        // forged responses to a captured attempt
	FloodData             // forged data packets with a captured receiver index
	NumFloods
)

func (f *Strangers) String() string {
	return fmt.Sprintf("%d mute addresses, %d others, %d ports, race %.3f, lure %.2f, crowd %.2f, relay %.2f, cookies %.2f, responses %.2f, floods %+v",
		f.Mute, f.Mail, f.Ports, f.Race, f.Lure, f.Crowd, f.Relay, f.Cookies, f.Responses, f.Floods)
}
