package events

// Kind is what sort of thing happened. Scripts may rely on the names.
type Kind string

// The kinds.
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
	NoWay          Kind = "no-way"
	WayBack        Kind = "way-back"
	RoutingLoop    Kind = "routing-loop"
	LoopGone       Kind = "routing-loop-gone"
	DefaultTaken   Kind = "default-taken"
	DefaultBack    Kind = "default-back"
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

// About is what there is to know of a kind.
type About struct {
	Kind    Kind
	Level   Level
	Topic   Kind   // the first kind of those that replace each other, as up and down do
	Meaning string // what has happened
	Advice  string // what to do
}

// nothing is the advice where none is needed.
const nothing = "nothing"

// All lists every kind, in the order of the manual.
var All = []About{
	{Started, Notice, Started, "the interface is up", nothing},
	{Stopping, Notice, Stopping, "the interface is taken down", nothing},
	{Note, Info, Note, "anything without a kind of its own", "read it"},
	{HostSetting, Warning, HostSetting, "a setting of this host will get in the way", "change it as the line says"},
	{HostMended, Notice, HostSetting, "something that this host lacked is there", nothing},
	{ConfigDoubt, Warning, ConfigDoubt, "something in the configuration looks like a mistake; `srdtun check` says the same", "correct it as the line says, or leave it, if it is meant"},
	{PrivilegesKept, Warning, PrivilegesKept, "the daemon could not give up what it does not need", "start it as root, or by the service file"},
	{ConfigChanged, Notice, ConfigChanged, "the configuration was changed while running", nothing},
	{ConfigRefused, Warning, ConfigRefused, "a change was refused; all stays as it was", "correct what the line names"},
	{DropInRefused, Warning, DropInRefused, "a file of a peer, or its directory, was left out", "correct what the line names; all other peers stay"},

	{SessionUp, Notice, SessionUp, "a handshake is done, after there was no session", nothing},
	{SessionLost, Warning, SessionUp, "there is no session any more, although it was in use; `why` says more", "look at `peer-silent`, `paths-down` and the peer's log of that time"},
	{SessionEnded, Notice, SessionUp, "the peer has ended the session in order, as when its daemon is stopped", nothing},
	{SessionExpired, Info, SessionUp, "the keys of a peer that nobody talked to are too old (3 minutes)", "nothing: the next packet makes new ones"},
	{SessionRenewed, Debug, SessionRenewed, "new keys, as every two minutes in use", nothing},
	{PeerRestarted, Notice, PeerRestarted, "the peer's daemon is another process than before", "nothing; its log says why"},
	{PeerSilent, Warning, PeerSilent, "nothing that was sent for 5 s has been answered", "ping the peer outside the tunnel; is its daemon running, does a firewall let UDP through?"},
	{PeerAnswers, Notice, PeerSilent, "a silent peer has answered", nothing},
	{PeerExpired, Warning, PeerExpired, "the time of a peer (`expires`) is over: it is no peer any more", "nothing, if that was meant; else sign another grant, or raise `expires`; does the fleet's agent run?"},
	{PeerMoved, Notice, PeerMoved, "the peer is reached at other addresses than before (roaming)", "nothing, if it did move"},
	{PeerRebound, Info, PeerMoved, "the peer's ports are all others than before: a NAT between forgot its mapping", "if this happens often, set persistent_keepalive at the peer behind the NAT"},
	{HandshakeMismatch, Warning, HandshakeMismatch, "answers to our handshakes do not decrypt", "compare preshared_key and public_key at both ends"},
	{RouterRefused, Notice, RouterRefused, "ICMP errors that a peer sends on, as of a router behind it, are dropped, since their source is not in the peer's allowed_ips: traceroute shows a star, and path MTU discovery behind the far end fails; told once a peer", "nothing, if all works; else look which routers are behind that peer, for it may have made the address up: those that you know may be added to its allowed_ips; or lower the MTU inside the tunnel"},
	{StrangerRefused, Warning, StrangerRefused, "handshakes that are not for us or not of a peer; told at once, then counted and told every minute", "`unknown_peer`: add the key, if it is somebody you know; `bad_mac1`: the sender has a wrong public_key of this host; else nothing: they are dropped"},

	{UplinkDown, Warning, UplinkUp, "no path from a local address works, while paths from others do; the subject has the interface, as in `192.0.2.7%wwan0`, if paths.local names that", "look at that interface, its cable, its provider"},
	{UplinkUp, Notice, UplinkUp, "paths from a local address work", nothing},
	{UplinkBypassed, Warning, UplinkBypassed, "packets do not get to a peer by an interface of paths.local", "give it a route, with any metric, as the line says"},
	{UplinkStraight, Notice, UplinkBypassed, "they do", nothing},
	{PathsDown, Warning, PathsDown, "some or all paths to a peer do not answer", "`srdtun show` lists them; some paths of a network may be broken while others work"},
	{PathsBack, Notice, PathsDown, "all paths to the peer work again, but those of an uplink that is down", nothing},
	{PathState, Debug, PathState, "one path is in another state than a second before", nothing},
	{PathMTU, Info, PathMTU, "the largest packet that all paths to a peer carry is another one", "nothing: packets are cut to fit"},
	{PathMTUTooLow, Warning, PathMTUTooLow, "small packets pass, and none of the least size there must be (1,228 bytes with IPv4, 1,248 with IPv6): pings pass, all else hangs", "find out which link between has a smaller MTU, and raise it"},

	{LocalMissing, Warning, LocalMissing, "an entry of paths.local has no address here", "bring the interface up, or correct paths.local"},
	{LocalBack, Notice, LocalMissing, "it has one again", nothing},
	{NoWay, Warning, NoWay, "this host has no address or route to reach a peer", "look at `ip route get ENDPOINT`"},
	{WayBack, Notice, NoWay, "there is one again", nothing},
	{RoutingLoop, Warning, RoutingLoop, "the route to an endpoint leads into the tunnel itself, or into another one that paths.local does not name", "add a route for the endpoint, or a narrower allowed_ips; of another tunnel, name it in paths.local if that is meant, else take it down or give it a mark (see docs/guide.md)"},
	{LoopGone, Notice, RoutingLoop, "it does not any more", nothing},
	{DefaultTaken, Warning, DefaultTaken, "another tunnel has got the traffic that has no route of its own", "nothing, if that is meant; else take the other one down, or up before this one"},
	{DefaultBack, Notice, DefaultTaken, "this one has it again", nothing},
	{EndpointSelf, Warning, EndpointSelf, "an endpoint is this daemon itself", "give the address of the other end"},
	{NameUnresolved, Warning, NameUnresolved, "the name in an endpoint cannot be looked up", "look at /etc/resolv.conf; what the name stood for stays in use"},
	{NameResolved, Notice, NameUnresolved, "it can be again", nothing},
	{NameMoved, Info, NameMoved, "a name stands for other addresses than before", nothing},

	{DeviceDown, Warning, DeviceDown, "the interface was set down by somebody else: nothing passes", "`ip link set NAME up`"},
	{DeviceUp, Notice, DeviceDown, "it was set up again", nothing},
	{RoutesRestored, Notice, RoutesRestored, "addresses, routes or rules that somebody else removed are back", "find out who removes them, if it happens again"},
	{RoutesLost, Warning, RoutesRestored, "they could not be put back", "the line says why"},
	{Fallback, Warning, Fallback, "something works in a slower way", "the line says what is missing"},
	{ReaderGaveWay, Info, ReaderGaveWay, "metrics, the dashboard or the control socket had no place left for a new reader, so an idle one was closed; the line says whose", "nothing; if somebody takes all places, a unix socket lets one group in and nobody else"},
	{ProcessStalled, Warning, ProcessStalled, "the daemon did not run for seconds: stopped, suspended, or the machine had no time for it", "nothing, if the machine slept; else look at its load"},
	{MachineCopied, Notice, MachineCopied, "this virtual machine is a copy or was restored: all sessions are made anew", nothing},
}

// roaming are the kinds that are no more than a Notice where the peer has no endpoints. It
// calls from wherever it is, as a laptop does, and nobody is to look after it when it has
// been shut.
var roaming = map[Kind]bool{SessionLost: true, PeerSilent: true, PathsDown: true}

// Describe returns what there is to know of a kind: of one that is not listed, that it is
// a note.
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
