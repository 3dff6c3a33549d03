package events

// Kind is the type of an event. Scripts may rely on the names of the kinds.
type Kind string

// These constants are the kinds of events.
const (
	Started        Kind = "started"
	Stopping       Kind = "stopping"
	Note           Kind = "note"
	HostSetting    Kind = "host-setting"
	HostMended     Kind = "host-setting-mended"
	ConfigDoubt    Kind = "config-doubt"
	PrivilegesKept Kind = "privileges-kept"
	ConfigChanged  Kind = "config-changed"
	ConfigRefused  Kind = "config-refused"
	DropInRefused  Kind = "drop-in-refused"

	SessionUp         Kind = "session-up"
	SessionLost       Kind = "session-lost"
	SessionEnded      Kind = "session-ended"
	SessionExpired    Kind = "session-expired"
	SessionRenewed    Kind = "session-renewed"
	PeerRestarted     Kind = "peer-restarted"
	PeerSilent        Kind = "peer-silent"
	PeerAnswers       Kind = "peer-answers"
	PeerExpired       Kind = "peer-expired"
	PeerMoved         Kind = "peer-moved"
	PeerRebound       Kind = "peer-rebound"
	HandshakeMismatch Kind = "handshake-mismatch"
	KeyShared         Kind = "key-shared"
	RouterRefused     Kind = "router-refused"
	StrangerRefused   Kind = "stranger-refused"

	UplinkDown     Kind = "uplink-down"
	UplinkUp       Kind = "uplink-up"
	UplinkBypassed Kind = "uplink-bypassed"
	UplinkStraight Kind = "uplink-straight"
	PathsDown      Kind = "paths-down"
	PathsBack      Kind = "paths-back"
	PathState      Kind = "path-state"
	PathMTU        Kind = "path-mtu"
	PathMTUTooLow  Kind = "path-mtu-too-low"

	LocalMissing   Kind = "local-missing"
	LocalBack      Kind = "local-back"
	LocalUnlisted  Kind = "local-unlisted"
	NoWay          Kind = "no-way"
	WayBack        Kind = "way-back"
	SendBlocked    Kind = "send-blocked"
	SendBack       Kind = "send-back"
	RoutingLoop    Kind = "routing-loop"
	LoopGone       Kind = "routing-loop-gone"
	OuterTaken     Kind = "outer-taken"
	OuterFree      Kind = "outer-free"
	DefaultTaken   Kind = "default-taken"
	DefaultBack    Kind = "default-back"
	InnerTaken     Kind = "inner-taken"
	InnerBack      Kind = "inner-back"
	EndpointSelf   Kind = "endpoint-self"
	NameUnresolved Kind = "name-unresolved"
	NameResolved   Kind = "name-resolved"
	NameMoved      Kind = "name-moved"

	DeviceDown     Kind = "device-down"
	DeviceUp       Kind = "device-up"
	RoutesRestored Kind = "routes-restored"
	RoutesLost     Kind = "routes-lost"
	Fallback       Kind = "fallback"
	ReaderGaveWay  Kind = "reader-gave-way"
	ProcessStalled Kind = "process-stalled"
	MachineCopied  Kind = "machine-copied"
)

// About describes a kind of event for the manual and the log.
type About struct {
	Kind    Kind
	Level   Level
	Topic   Kind   // the first of several kinds that end each other, such as up and down
	Meaning string // what has happened, in a sentence
	Advice  string // what the reader should do
}

// nothing is the advice for events that need no action.
const nothing = "nothing"

// All lists every kind of event, in the order of the manual.
var All = []About{
	{Started, Notice, Started, "the interface is up", nothing},
	{Stopping, Notice, Stopping, "the interface is taken down", nothing},
	{Note, Info, Note, "anything without a kind of its own", "read it"},
	{HostSetting, Warning, HostSetting, "a setting of this host disturbs the tunnel", "change the setting that the line names"},
	{HostMended, Notice, HostSetting, "this host has a feature or setting that it lacked before", nothing},
	{ConfigDoubt, Warning, ConfigDoubt, "a value in the configuration looks like a mistake; `srdtun check` prints the same line", "correct the value, or leave it if you mean it"},
	{PrivilegesKept, Warning, PrivilegesKept, "the daemon could not give up privileges that it does not need", "start it as root, or as a service"},
	{ConfigChanged, Notice, ConfigChanged, "the configuration was changed while running", nothing},
	{ConfigRefused, Warning, ConfigRefused, "a change was refused; the old configuration stays in force", "correct the key that the line names"},
	{DropInRefused, Warning, DropInRefused, "the file of a peer, or the whole directory, was ignored", "correct the file or directory that the line names; all other peers stay"},

	{SessionUp, Notice, SessionUp, "there is a session again, after a handshake", nothing},
	{SessionLost, Warning, SessionUp, "a session in use was lost; `why` has the reason", "look for `peer-silent` and `paths-down`, and at the peer's log of that time"},
	{SessionEnded, Notice, SessionUp, "the peer has closed the session, for instance because its daemon was stopped", nothing},
	{SessionExpired, Info, SessionUp, "the keys of an idle peer are too old (3 minutes)", "nothing: the next packet starts a handshake"},
	{SessionRenewed, Debug, SessionRenewed, "the session has new keys; a busy session gets them every two minutes", nothing},
	{PeerRestarted, Notice, PeerRestarted, "the peer's daemon has started anew", "nothing; the reason is in its log"},
	{PeerSilent, Warning, PeerSilent, "packets to the peer have had no answer for 5 s", "ping the peer outside the tunnel; see whether its daemon runs and whether firewalls let UDP through"},
	{PeerAnswers, Notice, PeerSilent, "a silent peer answers again", nothing},
	{PeerExpired, Warning, PeerExpired, "a peer was removed because its time (`expires`) is over", "nothing, if you meant it; else raise `expires`, or sign another grant and see whether the fleet's agent runs"},
	{PeerMoved, Notice, PeerMoved, "the peer has other addresses than before (roaming)", "nothing, if it did move"},
	{PeerRebound, Info, PeerMoved, "all ports of the peer have changed: a NAT has forgotten its mappings, or another process has the same private key", "if this happens often, set persistent_keepalive at the peer behind the NAT, and look for a second interface with its private key (srdtun doctor there)"},
	{HandshakeMismatch, Warning, HandshakeMismatch, "handshakes with a peer fail although its packets arrive: its answers do not decrypt, it confirms no answer of this host, or the ends have no cipher in common", "compare preshared_key and cipher at both ends; if the peer confirms no answer, see at the peer whether answers arrive"},
	{KeyShared, Warning, KeyShared, "two hosts or processes use the private key of one peer; they take the session from each other, so both lose packets", "give each host its own private key, and a [[peer]] section at this end"},
	{RouterRefused, Notice, RouterRefused, "ICMP errors from a router behind a peer are dropped, because the router's address is not in the peer's allowed_ips; traceroute shows a star, and path MTU discovery behind the peer fails; logged once for each peer", "nothing, if all works; else lower `interface.mtu`, which helps all packets from here, or limit the TCP MSS at the peer (`nft ... tcp option maxseg size set rt mtu`), or add the router's address to the peer's allowed_ips, if you know the router: the peer may have invented the address"},
	{StrangerRefused, Warning, StrangerRefused, "handshakes for another host, or from an unknown key, were dropped; the first is reported at once, later ones are counted and reported after a minute, then at longer intervals", "`unknown_peer`: add the key, if you know its owner; `bad_mac1`: the sender has a wrong public_key for this host; else nothing"},

	{UplinkDown, Warning, UplinkUp, "no path from this local address works, but paths from other addresses do; if paths.local names an interface, the event names it too: `192.0.2.7%wwan0`", "check that interface, its cable and its provider"},
	{UplinkUp, Notice, UplinkUp, "paths from this local address work", nothing},
	{UplinkBypassed, Warning, UplinkBypassed, "an interface of paths.local is down, has no carrier, or has no route to any peer", "the line has the reason; if a route is missing, add one as the line shows, with any metric"},
	{UplinkStraight, Notice, UplinkBypassed, "the interface can be used again", nothing},
	{PathsDown, Warning, PathsDown, "some or all paths to a peer do not answer", "`srdtun show` lists them; some paths of a network may be broken while others work"},
	{PathsBack, Notice, PathsDown, "all paths to the peer work again, except paths of an uplink that is down", nothing},
	{PathState, Debug, PathState, "one path has changed its state within the last second", nothing},
	{PathMTU, Info, PathMTU, "the largest packet size that all paths to a peer carry has changed", "nothing: packets are cut to fit"},
	{PathMTUTooLow, Warning, PathMTUTooLow, "small packets pass, but packets of the required minimum (1,228 bytes with IPv4, 1,248 with IPv6) do not: pings pass, everything else hangs", "find the link with the smaller MTU, and raise its MTU"},

	{LocalMissing, Warning, LocalMissing, "an entry of paths.local has no address on this host", "bring the interface up, or correct paths.local"},
	{LocalBack, Notice, LocalMissing, "the entry of paths.local has an address again", nothing},
	{LocalUnlisted, Notice, LocalUnlisted, "packets to an address of this host are dropped, because paths.local does not list the address (`not_in_paths_local`); logged once for each address", "nothing, if you removed that address from paths.local; else add it there, or remove it from the peers' endpoints"},
	{NoWay, Warning, NoWay, "this host has no address or route to reach a peer or one of its endpoints, or the interfaces to it are down or have no carrier", "the line has the reason; look at `ip route get ENDPOINT`"},
	{WayBack, Notice, NoWay, "this host can reach the peer, or the endpoint, again", nothing},
	{SendBlocked, Warning, SendBlocked, "the kernel refuses packets to an address for 2 s; the line has its reason (`send_failed`)", "operation not permitted: allow UDP to the address in this host's firewall (nft, iptables, IPAddressDeny of systemd)"},
	{SendBack, Notice, SendBlocked, "packets on that path are sent again, or none was refused for 30 s", nothing},
	{RoutingLoop, Warning, RoutingLoop, "the route to an endpoint leads into this tunnel, or into another tunnel that paths.local does not name", "add a route for the endpoint, or use a narrower allowed_ips; if another tunnel is to carry this one, name that tunnel in paths.local; else take it down, or give it a mark (see docs/guide.md)"},
	{LoopGone, Notice, RoutingLoop, "the route to the endpoint is right again", nothing},
	{OuterTaken, Warning, OuterTaken, "this tunnel's routes or rules take the outer packets of another VPN, so that VPN is dead, or runs inside this tunnel", "remove the addresses in the event from `allowed_ips`; or take one tunnel down; if both have default routes, give both one mark (`fwmark`, see docs/guide.md)"},
	{OuterFree, Notice, OuterTaken, "the outer packets of the other VPN leave this host again", nothing},
	{DefaultTaken, Warning, DefaultTaken, "another tunnel has taken over the default route", "nothing, if you meant that; else take the other tunnel down, or start it before this one"},
	{DefaultBack, Notice, DefaultTaken, "this tunnel has the default route again", nothing},
	{InnerTaken, Warning, InnerTaken, "packets to a whole prefix of a peer's allowed_ips do not enter the tunnel, because another route or a policy rule takes them", "remove the route or rule that the line names; if you mean it, remove the prefix from `allowed_ips`, or set `table` and add the routes yourself"},
	{InnerBack, Notice, InnerTaken, "packets to the prefix enter the tunnel again", nothing},
	{EndpointSelf, Warning, EndpointSelf, "an endpoint is the address of this daemon itself", "give the address of the other end"},
	{NameUnresolved, Warning, NameUnresolved, "the name in an endpoint cannot be looked up", "look at /etc/resolv.conf; the last known addresses stay in use"},
	{NameResolved, Notice, NameUnresolved, "the name can be looked up again", nothing},
	{NameMoved, Info, NameMoved, "a name has other addresses than before", nothing},

	{DeviceDown, Warning, DeviceDown, "the interface was set down by somebody else, or moved to another network namespace: nothing passes", "`ip link set NAME up`; after a move, start srdtun in that namespace"},
	{DeviceUp, Notice, DeviceDown, "the interface was set up again", nothing},
	{RoutesRestored, Notice, RoutesRestored, "another program had removed addresses, routes or rules, and srdtun has put them back", "if it happens again, find that program"},
	{RoutesLost, Warning, RoutesRestored, "removed addresses, routes or rules could not be put back", "the line has the reason"},
	{Fallback, Warning, Fallback, "a feature is missing, and a slower way is used", "the line names the feature"},
	{ReaderGaveWay, Info, ReaderGaveWay, "all connections of metrics, the dashboard or the control socket were taken, so an idle one was closed for a new reader; the line names its owner", "nothing; if somebody takes all connections, use a unix socket, which admits one group only"},
	{ProcessStalled, Warning, ProcessStalled, "the daemon did not run for some seconds: it was stopped or suspended, or the machine was overloaded", "nothing, if the machine slept; else look at its load"},
	{MachineCopied, Notice, MachineCopied, "this virtual machine was copied or restored, so all sessions start anew", nothing},
}

// roaming lists the kinds of events that have level Notice, not Warning, if the peer has no
// endpoints. Such a peer is, for instance, a laptop.
var roaming = map[Kind]bool{SessionLost: true, PeerSilent: true, PathsDown: true}

// Describe returns the description of a kind of event. A kind that is missing in All gets the
// description of a note.
func Describe(k Kind) About {
	a, ok := byKind[k]
	if !ok {
		return About{Kind: k, Level: Info, Topic: k}
	}
	return a
}

var byKind = func() map[Kind]About {
	m := make(map[Kind]About, len(All))
	for _, a := range All {
		m[a.Kind] = a
	}
	return m
}()
