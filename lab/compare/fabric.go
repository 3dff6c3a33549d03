package compare

// Fabric describes a network with two tiers of switches.
type Fabric struct {
	Name     string
	Topology string // name of the topology file
	Servers  int
	PerLeaf  int
	// From and To are ranges of server numbers, first and last, for the senders and receivers of
	// flows.
	From, To [2]int
	// Share is the capacity between leaves divided by the total rate of the sending servers' links.
	Share float64
	// Gbit is the capacity between leaves in Gbit/s, for all sending servers together.
	Gbit float64
	// If Edge is set, tunnels end at the leaf switches, otherwise at the servers.
	Edge bool
	// Uplink is the rate of a link between a leaf and a spine in Gbit/s.
	Uplink float64
	// Broken lists the cables that fail in scenarios with a fault.
	Broken []int
	// Clients lists the servers that request files. For each request of a client, Fan servers
	// answer. The numbers of two successive ones differ by Step.
	Clients   []int
	Fan, Step int
}

// fabrics lists the networks that the papers on CONGA and LetFlow measured.
var fabrics = []Fabric{
	{
		// The fabric conga64 is CONGA's testbed (section 5, figure 7). Clients are below one leaf
		// and servers below the other, with an oversubscription of two to one. In scenarios with a
		// fault, the cable between the clients' leaf and the second spine fails.
		Name: "conga64", Topology: "conga64.topo", Servers: 64, PerLeaf: 32,
		From: [2]int{0, 31}, To: [2]int{32, 63}, Share: 0.5, Gbit: 160, Uplink: 40,
		Broken: []int{7}, Clients: []int{32, 40, 48, 56}, Fan: 32, Step: 1,
	},
	{
		// The fabric conga64-leaf is the same testbed with tunnels that end in the leaf switches,
		// as in the paper.
		Name: "conga64-leaf", Topology: "conga64.topo", Servers: 64, PerLeaf: 32, Edge: true,
		From: [2]int{0, 31}, To: [2]int{32, 63}, Share: 0.5, Gbit: 160, Uplink: 40,
		Broken: []int{7}, Clients: []int{32, 40, 48, 56}, Fan: 32, Step: 1,
	},
	{
		// The fabric letflow48-leaf is the network of LetFlow's figure 1 (a). Servers below two
		// leaves send to servers below a third leaf. In scenarios with a fault, the cable between
		// the first leaf and the second spine fails.
		Name: "letflow48-leaf", Topology: "letflow48.topo", Servers: 48, PerLeaf: 16, Edge: true,
		From: [2]int{0, 31}, To: [2]int{32, 47}, Share: 0.25, Gbit: 80, Uplink: 40,
		Broken: []int{1}, Clients: []int{32, 36, 40, 44}, Fan: 32, Step: 1,
	},
	{
		// In the fabric letflow384, flows go from every server to every other server. In scenarios
		// with a fault, one cable of each leaf fails, each to a different spine.
		Name: "letflow384", Topology: "letflow384.topo", Servers: 384, PerLeaf: 48,
		From: [2]int{0, 383}, To: [2]int{0, 383}, Share: 1, Gbit: 3840, Uplink: 40,
		Broken: []int{0, 13, 26, 39, 52, 65, 78, 91}, Clients: []int{5, 107, 209, 311}, Fan: 48, Step: 8,
	},
}

// Fabrics returns the fabrics with the given names, or the first fabric if no name is given.
func Fabrics(names []string) ([]Fabric, error) {
	return pick("fabric", fabrics, names, func(f Fabric) string { return f.Name }, func(f Fabric) bool { return f.Name == fabrics[0].Name })
}
