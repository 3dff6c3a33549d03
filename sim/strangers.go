package sim

import (
	"fmt"
	"time"
)

// foes are what strangers and observers do in a run. The zero value does nothing.
type foes struct {
	mute, mail, ports int

	race  float64 // chance that a packet is overtaken by a copy from elsewhere
	lure  float64 // that an initiation is, and what follows it from the same elsewhere
	crowd float64 // that many are at once
	// relay is the chance that what is sent to where a copy came from is passed on to
	// where the packet did, until the trouble is over: then it was a path, and dies.
	relay     float64
	cookies   float64 // chance that an initiation seen on its way is answered by a false cookie
	responses float64 // or by a false response
	floods    []flood
}

// flood is many packets in a short time.
type flood struct {
	at   time.Duration
	host int
	kind int
	n    int
	rate float64 // a second
}

// Kinds of floods.
const (
	floodNoise     = iota // initiations of noise, with the right MACs
	floodCopies           // an initiation that was seen, from everywhere
	floodResponses        // responses of noise to an attempt that was seen
	floodData             // data packets of noise to an index that was seen
	numFloods
)

func (f *foes) String() string {
	return fmt.Sprintf("%d mute addresses, %d others, %d ports, race %.3f, lure %.2f, crowd %.2f, relay %.2f, cookies %.2f, responses %.2f, floods %+v",
		f.mute, f.mail, f.ports, f.race, f.lure, f.crowd, f.relay, f.cookies, f.responses, f.floods)
}
