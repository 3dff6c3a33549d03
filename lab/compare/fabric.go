package compare

// Fabric is a network of two tiers.
type Fabric struct {
	Name     string
	Topology string // file
	Servers  int
	PerLeaf  int
	// From and To are the ranges of servers, first and last, where flows start and end.
	From, To [2]int
	// Share is the capacity between leaves as a share of the sending servers' links.
	Share float64
	// Gbit is that capacity in Gbit/s, of all sending servers.
	Gbit float64
	// Edge lets tunnels end at the leaf switches; otherwise they end at the servers.
	Edge bool
	// Uplink is the rate of a link between a leaf and a spine in Gbit/s.
	Uplink float64
	// Broken lists the cables that scenarios with a broken cable affect.
	Broken []int
	// Clients receive the answers of Fan servers each. The numbers of these servers differ
	// by Step.
	Clients   []int
	Fan, Step int
}

// fabrics are the networks of the papers.
var fabrics = []Fabric{
	{
		// This is CONGA's testbed (section 5, figure 7). Clients are below one leaf,
		// servers below the other, two to one. A cable between the clients' leaf and the
		// second spine breaks.
		Name: "conga64", Topology: "conga64.topo", Servers: 64, PerLeaf: 32,
		From: [2]int{0, 31}, To: [2]int{32, 63}, Share: 0.5, Gbit: 160, Uplink: 40,
		Broken: []int{7}, Clients: []int{32, 40, 48, 56}, Fan: 32, Step: 1,
	},
	{
		// This is the same testbed with tunnels that end in the leaves, as in the paper.
		Name: "conga64-leaf", Topology: "conga64.topo", Servers: 64, PerLeaf: 32, Edge: true,
		From: [2]int{0, 31}, To: [2]int{32, 63}, Share: 0.5, Gbit: 160, Uplink: 40,
		Broken: []int{7}, Clients: []int{32, 40, 48, 56}, Fan: 32, Step: 1,
	},
	{
		// This is LetFlow's first figure, (a). Servers below two leaves send to servers
		// below a third. The cable between the first leaf and the second spine breaks.
		Name: "letflow48-leaf", Topology: "letflow48.topo", Servers: 48, PerLeaf: 16, Edge: true,
		From: [2]int{0, 31}, To: [2]int{32, 47}, Share: 0.25, Gbit: 80, Uplink: 40,
		Broken: []int{1}, Clients: []int{32, 36, 40, 44}, Fan: 32, Step: 1,
	},
	{
		// Flows go from every server to every other. A cable of each leaf breaks, each to
		// another spine.
		Name: "letflow384", Topology: "letflow384.topo", Servers: 384, PerLeaf: 48,
		From: [2]int{0, 383}, To: [2]int{0, 383}, Share: 1, Gbit: 3840, Uplink: 40,
		Broken: []int{0, 13, 26, 39, 52, 65, 78, 91}, Clients: []int{5, 107, 209, 311}, Fan: 48, Step: 8,
	},
}

// Fabrics returns the named fabrics, or the first if no name is given.
func Fabrics(names []string) ([]Fabric, error) {
	return pick("fabric", fabrics, names, func(f Fabric) string { return f.Name }, func(f Fabric) bool { return f.Name == fabrics[0].Name })
}
