package srd

// Pending returns how many messages were sent and are neither acknowledged nor given up.
func (c *Conn) Pending() int { return int(c.recovery.out.next - c.recovery.out.first) }
