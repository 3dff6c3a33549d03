package config

// The constants are the values of keySpec.live.
const (
	atRestart = false
	live      = true
)

// keySpec describes one configuration key. The parser, the writer, the difference of
// configurations, and docs/config.md use keySpec.
type keySpec struct {
	name   string
	kind   string // type of its value, for docs
	absent string // its default, for docs
	live   bool   // a change takes effect without a restart
	means  string // its meaning in one sentence, for docs
	// The function value() returns the key's value in a configuration as TOML. It returns "" if the
	// value is the default, and for a key whose value another key contains, such as
	// private_key_file.
	value  func(c *Config, p *Peer) string
	secret bool // value must not be shown
}

// sectionSpec describes a section and its keys.
type sectionSpec struct {
	name string
	keys []keySpec
}

// schema lists every key of a configuration file, in the order of doc.go.
var schema = []sectionSpec{
	{"interface", []keySpec{
		{"name", "text", "the file name without its extension", atRestart, "The name of the device.", ofName, false},
		{"private_key", "base64", "none: needed", atRestart, "This end's identity, as `srdtun genkey` prints it.", ofPrivateKey, true},
		{"private_key_file", "path", "none", atRestart, "A file with the private key, in place of `private_key`. A relative path begins at the configuration file's directory.", ofNothing, false},
		{"address", "list of addresses, with or without prefix length", "none", live, "Addresses of this end inside the tunnel.", ofAddress, false},
		{"listen_port", "0..65535", "51820", atRestart, "The UDP port on which peers find this end; 0 lets the kernel choose.", ofListenPort, false},
		{"mtu", "bytes, 1280..65520", "1500", atRestart, "The largest packet inside the tunnel. It does not depend on the network outside.", ofMTU, false},
		{"fwmark", `0..4294967295 or "off"`, "0", atRestart, "A mark on the outer packets, for policy routing.", ofFwMark, false},
		{"table", `"auto", "off" or a number`, `"auto"`, atRestart, "Where the routes to allowed_ips go, as in wg-quick(8).", ofTable, false},
		{"workers", "0..16", "0", atRestart, "Threads that carry packets; 0: half of the processors, up to four.", ofWorkers, false},
		{"offload", "true or false", "true", atRestart, "Whether several packets of a flow may cross the device together as one super-frame with unfinished checksums, in both directions. `false` is for kernels where this fails, and costs processor time.", ofOffload, false},
		{"dns", "list of addresses and search domains", "none", atRestart, "Resolvers to use while the tunnel is up, given to resolvectl or resolvconf. An entry that is no address is a search domain.", ofDNS, false},
		{"pre_up", "list of commands", "none", atRestart, "Run before the device is made. A command is a list of its words; no shell reads it, and `%i` in a word is the interface's name.", ofPreUp, false},
		{"post_up", "list of commands", "none", atRestart, "Run when the interface has its addresses and routes. A failure ends the start.", ofPostUp, false},
		{"pre_down", "list of commands", "none", atRestart, "Run before the interface is taken down.", ofPreDown, false},
		{"post_down", "list of commands", "none", atRestart, "Run when the interface is gone.", ofPostDown, false},
	}},
	{"paths", []keySpec{
		{"source_ports", "1..256", "32", atRestart, "The number of UDP source ports over which packets are spread.", ofSourcePorts, false},
		{"port_range", `"first-last"`, "any free port", atRestart, "The range of the source ports.", ofPortRange, false},
		{"local", "list of addresses or interface names", "any", live, "Addresses to send from, each with paths of its own. Packets to other addresses of this host are dropped.", ofLocal, false},
		{"policy", "name of a policy", `"spray"`, live, "How packets are spread over the paths: see docs/policies.md.", ofPolicy, false},
		{"flowlet_timeout", `"10us".."10s"`, "the policy's own", live, "The pause after which a flow may change its path.", ofFlowlet, false},
		{"weights", "list of numbers 1..1000, one for each of `local`", "equal", live, "The weight of each entry of `local`.", ofWeights, false},
		{"primary", "an entry of `local`", "none", live, "The entry to use as long as it works, for active-backup.", ofPrimary, false},
		{"flowcell", "bytes, 1500..67108864", "65536", live, "The size of the parts of a flow that are sent over one path each, for presto.", ofFlowcell, false},
		{"dre_alpha", "0.01..0.99", "0.125", live, "The share by which the rate estimate shrinks in each `dre_period`, for conga.", ofAlpha, false},
		{"dre_period", `"1us".."100ms"`, `"20us"`, live, "The interval at which the rate estimate shrinks, for conga.", ofPeriod, false},
		{"link_mbit", "Mbit/s, 0..1000000", "0", live, "The rate of each path in Mbit/s; 0: learn it.", ofLinkMbit, false},
		{"mtu", "bytes, 0 or 1280..65535", "0", atRestart, "An upper bound of the path MTU; 0: discover it.", ofPathMTU, false},
	}},
	{"transport", []keySpec{
		{"cipher", `"auto", "aes-256-gcm", "aes-128-gcm" or "chacha20-poly1305"`, `"auto"`, atRestart, "The cipher, which both ends must allow.", ofCipher, false},
	}},
	{"order", []keySpec{
		{"udp", `"ordered" or "unordered"`, `"ordered"`, atRestart, "Whether UDP packets are delivered in the order in which they were sent. TCP packets are always delivered in order.", ofUDP, false},
	}},
	{"metrics", []keySpec{
		{"listen", `"address:port" or "unix:/path"`, "none", atRestart, "The address at which Prometheus reads the counters, at /metrics: see docs/monitoring.md. There is no password.", ofMetricsListen, false},
		{"per_path", "true or false", "false", atRestart, "Whether the metrics have time series for each path.", ofPerPath, false},
	}},
	{"dashboard", []keySpec{
		{"listen", `"address:port" or "unix:/path"`, "none", atRestart, "The address of the page for browsers. There is no password.", ofDashboardListen, false},
	}},
	{"peers", []keySpec{
		{"dir", "path", "none", atRestart, "A directory of drop-in files `*.toml`, each with one `[[peer]]`. It is watched: peers come and go with their files.", ofDir, false},
		{"owner", "user, by name or number", "the daemon's own user", atRestart, "The owner of the directory and its files, besides root: see [reload.md](reload.md#peers-from-a-directory).", ofOwner, false},
		{"allow", "list of prefixes", "any", live, "The prefixes within which the `allowed_ips` in that owner's files must lie. Prefixes of another peer or of this host are always refused.", ofAllow, false},
	}},
	{"peer", []keySpec{
		{"name", "text", "none", live, "A name for messages, `show` and `set`. It cannot be an address, prefix, endpoint or key: these stand for the peer that has them.", ofPeerName, false},
		{"public_key", "base64", "none: needed", live, "The peer's identity. With another key it is another peer.", ofPublicKey, false},
		{"preshared_key", "base64", "none", live, "A second secret, the same on both ends. A new one takes effect at the next handshake.", ofPresharedKey, true},
		{"preshared_key_file", "path", "none", live, "A file with the preshared key, in place of `preshared_key`.", ofNothing, false},
		{"endpoints", `list of "host:port"`, "none", live, "The peer's addresses outside the tunnel, each with paths of its own.", ofEndpoints, false},
		{"allowed_ips", "list of prefixes", "none", live, "Packets to these addresses go to this peer, and packets from it must have one of them as their source.", ofAllowedIPs, false},
		{"policy", "name of a policy", "`policy` of `[paths]`", live, "How packets are spread over the paths to this peer.", ofPeerPolicy, false},
		{"persistent_keepalive", `seconds, 0..65535 or "off"`, "0", live, "The interval in seconds at which this end sends a packet, to stay reachable behind NAT.", ofKeepalive, false},
		{"expires", `time, as 2026-12-01T00:00:00Z, or "never"`, `"never"`, live, "The time at which the peer is removed, by this host's clock: see [reload.md](reload.md#peers-for-a-time).", ofExpires, false},
	}},
}
