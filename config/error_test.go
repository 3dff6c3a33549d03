package config

import (
	"errors"
	"strings"
	"testing"
)

// mainPart is a valid beginning of a configuration, with four lines.
const mainPart = "[interface]\nprivate_key = \"$0\"\naddress = \"10.0.0.1/24\"\n\n"

// faulty has invalid documents, and the exact error that each of them gives.
var faulty = []struct{ name, doc, want string }{
	{"empty", "", `s.toml:1: interface.private_key: is missing; give private_key or private_key_file`},
	{"no private key", "# x\n\n[interface]\nmtu = 1400\n", `s.toml:3: interface.private_key: is missing; give private_key or private_key_file`},
	{"unknown key", "[interface]\nprivat_key = 'x'\n", `s.toml:2: interface.privat_key: unknown key; the nearest known key is private_key`},
	{"spelled as in wg", "[interface]\n\nPrivateKey = 'x'\n", `s.toml:3: interface.PrivateKey: unknown key; the nearest known key is private_key`},
	{"long key of wg", mainPart + "[[peer]]\nPersistentKeepalive = 25\n", `s.toml:6: peer.PersistentKeepalive: unknown key; the nearest known key is persistent_keepalive`},
	{"a secret for a key", mainPart + "[order]\noaasrbFEEOM1nxDJsqSN1I = 'x'\n", `s.toml:6: order.(hidden): unknown key; no key of [order] is similar`},
	{"endpoint of wg", mainPart + "[[peer]]\npublic_key = '$1'\nendpoint = '1.2.3.4:5'\n", `s.toml:7: peer.endpoint: unknown key; the nearest known key is endpoints`},
	{"key of another section", mainPart + "[[peer]]\n[[peer]]\nlisten_port = 5\n", `s.toml:7: peer.listen_port: unknown key here; the nearest known key is listen_port in [interface]`},
	{"private key in a peer", mainPart + "[[peer]]\nprivate_key = '$1'\n", `s.toml:6: peer.private_key: unknown key here; ` + insteadOfPrivate},
	{"private key in a peer as in wg", mainPart + "[[peer]]\nPrivateKey = '$1'\n", `s.toml:6: peer.PrivateKey: unknown key here; ` + insteadOfPrivate},
	{"key file in a peer", mainPart + "[[peer]]\nprivate_key_file = 'x'\n", `s.toml:6: peer.private_key_file: unknown key here; ` + insteadOfPrivate},
	{"key of a peer at the top", "AllowedIPs = []\n", `s.toml:1: AllowedIPs: unknown key here; the nearest known key is allowed_ips in [[peer]]`},
	{"key of wg-quick", "[interface]\nsave_config = true\n", `s.toml:2: interface.save_config: unknown key; srdtun set --save writes its changes to the file`},
	{"hook of wg-quick", "[interface]\npost_up = 'ip link'\n", `s.toml:2: interface.post_up: want a list of words, not a string, because no shell splits it; for example ["ip", "route", "add", "10.1.0.0/16", "dev", "%i"]`},
	{"hook without words", "[interface]\npost_up = [[]]\n", `s.toml:2: interface.post_up: a command has 1 to 256 words`},
	{"hook in one word", "[interface]\npre_up = [['a'],\n['ip link']]\n", `s.toml:3: interface.pre_up: the first word is not a program; each word is a string of its own, as in ["ip", "link"]`},
	{"resolver", "[interface]\ndns = ['10.0.0.1', '-x']\n", `s.toml:2: interface.dns: "-x": neither an address nor a search domain`},
	{"unspecified resolver", "[interface]\ndns = '0.0.0.0'\n", `s.toml:2: interface.dns: "0.0.0.0": the unspecified address cannot be the address of a host`},
	{"unknown section", mainPart + "[path]\nx = 1\n", `s.toml:5: path: unknown section; the nearest known is [paths]`},
	{"unknown array of sections", mainPart + "[[peers]]\n", `s.toml:5: peers: want [[peer]], for one peer; [peers] names a directory of peer files`},
	{"section of another program", mainPart + "[wireguard]\nx = 1\n", `s.toml:5: wireguard: unknown section; there are [interface], [paths], [transport], [order], [metrics], [dashboard], [peers], [[peer]]`},
	{"first of several", mainPart + "zeta = 1\nalpha = 2\n[order]\nfoo = 1\n", `s.toml:5: interface.zeta: unknown key; no key of [interface] is similar`},
	{"quoted unknown key", "[interface]\n\"na\\tme \\u001b\" = 1\n", `s.toml:2: interface.na?me ?: unknown key; the nearest known key is name`},
	{"owner without directory", mainPart + "[peers]\nowner = 'x'\n", `s.toml:6: peers.owner: names the owner of the files in dir, but dir is missing`},
	{"owner that is none", mainPart + "[peers]\ndir = 'x'\nowner = 'a b'\n", `s.toml:7: peers.owner: "a b" is not a user; want a name or a number`},
	{"owner of wrong type", mainPart + "[peers]\ndir = 'x'\nowner = true\n", `s.toml:7: peers.owner: want a string in quotes, not a boolean`},
	{"owner below all users", mainPart + "[peers]\ndir = 'x'\nowner = -1\n", `s.toml:7: peers.owner: there is no user -1; want a number up to 4294967294, or a name`},
	{"owner above all users", mainPart + "[peers]\ndir = 'x'\nowner = 4294967295\n", `s.toml:7: peers.owner: there is no user 4294967295; want a number up to 4294967294, or a name`},
	{"owner above all users, as text", mainPart + "[peers]\ndir = 'x'\nowner = '4294967295'\n", `s.toml:7: peers.owner: there is no user 4294967295; want a number up to 4294967294, or a name`},
	{"owner of no text", mainPart + "[peers]\ndir = 'x'\nowner = ''\n", `s.toml:7: peers.owner: "" is not a user; want a name or a number`},
	{"allow without owner", mainPart + "[peers]\ndir = 'x'\nallow = ['10.0.0.0/8']\n", `s.toml:7: peers.allow: limits the files of owner, but owner is missing`},
	{"allow of nothing", mainPart + "[peers]\ndir = 'x'\nowner = 'a'\nallow = []\n", `s.toml:8: peers.allow: must not be empty; leave the key out, or owner`},
	{"allow of no prefix", mainPart + "[peers]\ndir = 'x'\nowner = 'a'\nallow = ['10.0.0.0/8',\n'x']\n", `s.toml:9: peers.allow: "x": not an IP prefix; want address/length`},
	{"blank at the end of a name", mainPart + "[[peer]]\npublic_key = '$1'\nname = 'hub '\n", `s.toml:7: peer.name: a name has no blanks at its ends, and no two in a row`},
	{"filler in a name", mainPart + "[[peer]]\npublic_key = '$1'\nname = \"hub\\u3164\"\n", `s.toml:7: peer.name: a name has no invisible characters`},
	{"time without a zone", mainPart + "[[peer]]\npublic_key = '$1'\nexpires = 2026-12-01T00:00:00\n", `s.toml:7: peer.expires: want a time with its zone, such as 2026-12-01T00:00:00Z`},
	{"time that is none", mainPart + "[[peer]]\npublic_key = '$1'\nexpires = 'soon'\n", `s.toml:7: peer.expires: "soon": want a time with its zone, such as 2026-12-01T00:00:00Z`},
	{"first of all times", mainPart + "[[peer]]\npublic_key = '$1'\nexpires = '0001-01-01T00:00:00Z'\n", `s.toml:7: peer.expires: "0001-01-01T00:00:00Z": want a time with its zone, such as 2026-12-01T00:00:00Z`},
	{"time of wrong type", mainPart + "[[peer]]\npublic_key = '$1'\nexpires = 3\n", `s.toml:7: peer.expires: want a time with its zone, such as 2026-12-01T00:00:00Z, not an integer`},
	{"peer with one bracket", mainPart + "[peer]\n", `s.toml:5: peer: want tables [[peer]], with two brackets, not a table`},
	{"interface with two brackets", "\n[[interface]]\n", `s.toml:2: interface: want one table [interface], not an array of tables`},
	{"peers that are no tables", "peer = [\n{},\n3]\n", `s.toml:3: peer: want tables [[peer]], not an integer`},
	{"section as number", "paths = 3\n", `s.toml:1: paths: want one table [paths], not an integer`},

	{"mistyped string", "[interface]\nname = 3\n", `s.toml:2: interface.name: want a string in quotes, not an integer`},
	{"mistyped number", "[interface]\n\nmtu = \"1500\"\n", `s.toml:3: interface.mtu: want a whole number of bytes from 1280 to 65520, without quotes, not "1500"`},
	{"float", "[interface]\nlisten_port = 1.5\n", `s.toml:2: interface.listen_port: want a whole number from 0 to 65535, not a floating-point number`},
	{"boolean", "[paths]\nsource_ports = true\n", `s.toml:2: paths.source_ports: want a whole number from 1 to 256, not a boolean`},
	{"mistyped list", "[interface]\naddress = 1979-05-27\n", `s.toml:2: interface.address: want a list of strings, not a date or time`},
	{"mistyped element", mainPart + "[[peer]]\nallowed_ips = [\n  \"10.0.0.2\", # first\n\n  [],\n]\n", `s.toml:9: peer.allowed_ips: want strings in quotes, not an array`},
	{"secret of wrong type", "[interface]\nprivate_key = 12345\n", `s.toml:2: interface.private_key: want a string in quotes, not an integer`},
	{"public key of wrong type", mainPart + "[[peer]]\npublic_key = []\n", `s.toml:6: peer.public_key: want a string in quotes, not an array`},

	{"private key too short", "[interface]\nprivate_key = \"AAAA\"\n", `s.toml:2: interface.private_key: not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them`},
	{"zero private key", "[interface]\nprivate_key = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\n", `s.toml:2: interface.private_key: the key is all zeros`},
	{"both private keys", "[interface]\nprivate_key_file = \"x\"\nprivate_key = \"$0\"\n", `s.toml:3: interface.private_key: give private_key or private_key_file, not both`},
	{"both preshared keys", mainPart + "[[peer]]\npublic_key = '$1'\npreshared_key = '$2'\npreshared_key_file = 'x'\n", `s.toml:8: peer.preshared_key_file: give preshared_key or preshared_key_file, not both`},
	{"empty key file name", "[interface]\nprivate_key_file = ''\n", `s.toml:2: interface.private_key_file: want the path of a file`},
	{"bad public key", mainPart + "[[peer]]\npublic_key = '$1x'\n", `s.toml:6: peer.public_key: not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them`},
	{"empty public key", mainPart + "[[peer]]\npublic_key = ''\n", `s.toml:6: peer.public_key: not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them`},
	{"no public key", mainPart + "[[peer]]\npublic_key = '$1'\n[[peer]]\nname = 'x'\n", `s.toml:7: peer.public_key: is missing`},
	{"own public key", mainPart + "[[peer]]\npublic_key = '$own'\n", `s.toml:6: peer.public_key: is this interface's own key`},
	{"public key twice", mainPart + "[[peer]]\npublic_key = '$1'\n[[peer]]\npublic_key = '$2'\n[[peer]]\n\npublic_key = '$1'\n", `s.toml:11: peer.public_key: belongs to the peer of line 5 already`},
	{"public key of small order", mainPart + "[[peer]]\npublic_key = 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='\n", `s.toml:6: peer.public_key: is not a usable key: it gives the same secret to everyone`},
	{"public key with the top bit", mainPart + "[[peer]]\npublic_key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Lg='\n", `s.toml:6: peer.public_key: another spelling of a public key: want a number below 2^255-19, as srdtun pubkey prints it`},
	{"peer name twice", mainPart + "[[peer]]\nname = 'a'\npublic_key = '$1'\n[[peer]]\nname = 'b'\npublic_key = '$2'\n[[peer]]\nname = 'a'\npublic_key = '$3'\n", `s.toml:12: peer.name: "a" names the peer of line 5 already`},
	{"empty peer name", mainPart + "[[peer]]\nname = ''\n", `s.toml:6: peer.name: must not be empty; leave the key out instead`},
	{"peer named as an address", mainPart + "[[peer]]\nname = '10.80.0.2'\n", `s.toml:6: peer.name: a name cannot be an address: an address stands for the peer that it belongs to`},
	{"peer named as a prefix", mainPart + "[[peer]]\nname = 'fd80::/64'\n", `s.toml:6: peer.name: a name cannot be a prefix`},
	{"peer named as an endpoint", mainPart + "[[peer]]\nname = 'hub.example:51820'\n", `s.toml:6: peer.name: a name cannot be an endpoint, with a port`},
	{"peer named as a key", mainPart + "[[peer]]\nname = '$1'\n", `s.toml:6: peer.name: a name cannot look like a public key: a key stands for the peer that has it`},
	{"peer named as a key, almost", mainPart + "[[peer]]\nname = '" + strings.Repeat("aB3", 14) + "x'\n", `s.toml:6: peer.name: a name cannot look like a public key: a key stands for the peer that has it`},
	{"peer name with tab", mainPart + "[[peer]]\nname = \"a\\tb\"\n", `s.toml:6: peer.name: a name has printable characters only`},
	{"long peer name", mainPart + "[[peer]]\nname = '" + strings.Repeat("x", 64) + "'\n", `s.toml:6: peer.name: a name has at most 63 bytes`},

	{"listener without address", mainPart + "[metrics]\nlisten = ':9586'\n", `s.toml:6: metrics.listen: want an address and a port like "127.0.0.1:9586", or "unix:" and a path, not ":9586"`},
	{"listener by name", mainPart + "[dashboard]\nlisten = 'localhost:9587'\n", `s.toml:6: dashboard.listen: want an address and a port like "127.0.0.1:9586", or "unix:" and a path, not "localhost:9587"`},
	{"listener without port", mainPart + "[metrics]\nlisten = '127.0.0.1:0'\n", `s.toml:6: metrics.listen: want an address and a port like "127.0.0.1:9586", or "unix:" and a path, not "127.0.0.1:0"`},
	{"listener as number", mainPart + "[metrics]\nlisten = 9586\n", `s.toml:6: metrics.listen: want a string in quotes, not an integer`},
	{"listener of a group", mainPart + "[metrics]\nlisten = '224.0.0.1:9586'\n", `s.toml:6: metrics.listen: nobody can listen on "224.0.0.1:9586"`},
	{"listener on a path from somewhere", mainPart + "[metrics]\nlisten = 'unix:run/lab'\n", `s.toml:6: metrics.listen: want a whole path like "unix:/run/srdtun/lab/metrics", not "unix:run/lab"`},
	{"listener on a path with steps back", mainPart + "[metrics]\nlisten = 'unix:/run/../etc/lab'\n", `s.toml:6: metrics.listen: want a whole path like "unix:/run/srdtun/lab/metrics", not "unix:/run/../etc/lab"`},
	{"listener on a path that is too long", mainPart + "[metrics]\nlisten = 'unix:/" + strings.Repeat("x", 103) + "'\n", `s.toml:6: metrics.listen: the path of a unix socket has at most 103 bytes, not 104`},
	{"both on one socket", mainPart + "[metrics]\nlisten = 'unix:/run/x'\n[dashboard]\nlisten = 'unix:/run/x'\n", `s.toml:8: dashboard.listen: unix:/run/x is taken by metrics.listen`},
	{"flag in quotes", mainPart + "[metrics]\nper_path = 'yes'\n", `s.toml:6: metrics.per_path: want true or false, without quotes, not "yes"`},
	{"two on one port", mainPart + "[metrics]\nlisten = '[::1]:9586'\n[dashboard]\nlisten = '[::1]:9586'\n", `s.toml:8: dashboard.listen: [::1]:9586 is taken by metrics.listen`},

	{"interface name too long", "[interface]\nname = 'abcdefghijklmnop'\n", `s.toml:2: interface.name: an interface name has at most 15 bytes, "abcdefghijklmnop" has more`},
	{"interface name like an option", "[interface]\nname = '-x'\n", `s.toml:2: interface.name: "-x" begins with "-" as an option does, and cannot name the tunnel`},
	{"invisible interface name", "[interface]\nname = \"\\u202e\"\n", `s.toml:2: interface.name: "\u202e" has an invisible character, and cannot name the tunnel`},
	{"interface name with slash", "[interface]\nname = 'a/b'\n", `s.toml:2: interface.name: "a/b" has a character that no interface name can have`},
	{"empty interface name", "[interface]\nname = ''\n", `s.toml:2: interface.name: an interface name must not be empty`},

	{"bad address", "[interface]\naddress = [\n\"10.0.0.1/24\",\n\"10.0.0.256/24\"]\n", `s.toml:4: interface.address: "10.0.0.256/24": not an IP prefix; want address/length`},
	{"addresses in one string", "[interface]\naddress = '10.0.0.1/24, fd00::1/64'\n", `s.toml:2: interface.address: several entries in one string; want a list: ["10.0.0.1/24", "fd00::1/64"]`},
	{"endpoints in one string", mainPart + "[[peer]]\nendpoints = 'a:1,b:2'\n", `s.toml:6: peer.endpoints: several entries in one string; want a list: ["a:1", "b:2"]`},
	{"prefix too long", "[interface]\naddress = '10.0.0.1/33'\n", `s.toml:2: interface.address: "10.0.0.1/33": the prefix length must be a number from 0 to 32`},
	{"prefix with sign", "[interface]\naddress = '::2/+64'\n", `s.toml:2: interface.address: "::2/+64": the prefix length must be a number from 0 to 128`},
	{"unspecified address", "[interface]\naddress = '0.0.0.0/0'\n", `s.toml:2: interface.address: "0.0.0.0/0": the unspecified address cannot be the address of a host`},
	{"multicast address", "[interface]\naddress = 'ff02::1/64'\n", `s.toml:2: interface.address: "ff02::1/64": a multicast address cannot be the address of a host`},
	{"mapped address", "[interface]\naddress = '::ffff:10.0.0.1/120'\n", `s.toml:2: interface.address: "::ffff:10.0.0.1/120": an IPv4 address in IPv6 form; write it as IPv4`},
	{"address twice", "[interface]\nprivate_key = '$0'\naddress = ['10.0.0.1/24',\n'fd00::1/64',\n'fd00:0::1/64']\n", `s.toml:5: interface.address: fd00::1/64 is listed twice`},
	{"address in two networks", "[interface]\nprivate_key = '$0'\naddress = ['10.0.0.1/24', '10.0.0.2/24',\n'10.0.0.1/16']\n", `s.toml:4: interface.address: 10.0.0.1 is listed twice, as 10.0.0.1/24 and 10.0.0.1/16`},
	{"network for an address", "[interface]\nprivate_key = '$0'\naddress = ['10.0.0.0/31',\n'10.0.0.0/24']\n", `s.toml:4: interface.address: 10.0.0.0/24 is the network itself; want a host's address in it`},
	{"broadcast for an address", "[interface]\nprivate_key = '$0'\naddress = ['10.0.0.1/31',\n'10.0.0.255/24']\n", `s.toml:4: interface.address: 10.0.0.255/24 is the broadcast address; want a host's address in it`},
	{"loopback address", "[interface]\nprivate_key = '$0'\naddress = '127.0.0.1/8'\n", `s.toml:3: interface.address: 127.0.0.1/8 is a loopback address, and its packets never leave the host`},
	{"listen port", "[interface]\nlisten_port = 65536\n", `s.toml:2: interface.listen_port: 65536 is out of bounds; want 0 to 65535`},
	{"small mtu", "[interface]\nmtu = 1279\n", `s.toml:2: interface.mtu: 1279 is out of bounds; want 1280 to 65520 bytes`},
	{"large mtu", "[interface]\nmtu = 65521\n", `s.toml:2: interface.mtu: 65521 is out of bounds; want 1280 to 65520 bytes`},
	{"mark", "[interface]\nfwmark = '0x1ffffffff'\n", `s.toml:2: interface.fwmark: want a whole number from 0 to 4294967295 or "off", not "0x1ffffffff"`},
	{"negative mark", "[interface]\nfwmark = -1\n", `s.toml:2: interface.fwmark: -1 is out of bounds; want 0 to 4294967295`},
	{"table zero", "[interface]\ntable = 0\n", `s.toml:2: interface.table: want "auto", "off" or a number from 1 to 4294967295`},
	{"table word", "[interface]\ntable = 'of'\n", `s.toml:2: interface.table: want "auto", "off" or a number from 1 to 4294967295`},

	{"offload in quotes", "[interface]\noffload = 'no'\n", `s.toml:2: interface.offload: want true or false, without quotes, not "no"`},
	{"workers", "[interface]\nworkers = 17\n", `s.toml:2: interface.workers: 17 is out of bounds; want 0 to 16`},
	{"source ports", "[paths]\nsource_ports = 257\n", `s.toml:2: paths.source_ports: 257 is out of bounds; want 1 to 256`},
	{"no source ports", "[paths]\nsource_ports = 0\n", `s.toml:2: paths.source_ports: 0 is out of bounds; want 1 to 256`},
	{"port range without end", "[paths]\nport_range = '40000'\n", `s.toml:2: paths.port_range: want "first-last" with ports from 1 to 65535, not "40000"`},
	{"port range from zero", "[paths]\nport_range = '0-100'\n", `s.toml:2: paths.port_range: want "first-last" with ports from 1 to 65535, not "0-100"`},
	{"empty port range", "[paths]\nport_range = ''\n", `s.toml:2: paths.port_range: want "first-last" with ports from 1 to 65535, not ""`},
	{"port range past the end", "[paths]\nport_range = '65000-65536'\n", `s.toml:2: paths.port_range: want "first-last" with ports from 1 to 65535, not "65000-65536"`},
	{"port range backwards", "[paths]\nport_range = '5000-4000'\n", `s.toml:2: paths.port_range: the range "5000-4000" ends before it begins`},
	{"port clash", mainPart + "[paths]\nport_range = '51820-51900'\n", `s.toml:6: paths.port_range: contains interface.listen_port, 51820`},
	{"port clash at the end", mainPart + "[paths]\nport_range = '51700-51820'\n", `s.toml:6: paths.port_range: contains interface.listen_port, 51820`},
	{"port range too small", mainPart + "[paths]\nport_range = '40000-40030'\n", `s.toml:6: paths.port_range: has 31 ports, fewer than the 32 of source_ports`},
	{"bad local address", "[paths]\nlocal = ['eth0', '10.0.0.300']\n", `s.toml:2: paths.local: "10.0.0.300": not an IP address`},
	{"local prefix", "[paths]\nlocal = '10.0.0.3/24'\n", `s.toml:2: paths.local: "10.0.0.3/24": want an address without a prefix length`},
	{"local name", "[paths]\nlocal = 'eth 0'\n", `s.toml:2: paths.local: "eth 0": neither an address nor an interface name`},
	{"local twice", "[paths]\nlocal = [\n'eth0',\n'eth1',\n'eth0']\n", `s.toml:5: paths.local: "eth0": is listed twice`},
	{"local is the tunnel", mainPart + "[paths]\nlocal = ['eth0',\n's']\n", `s.toml:7: paths.local: "s" is the tunnel itself`},
	{"local is in the tunnel", mainPart + "[paths]\nlocal = '10.0.0.1'\n", `s.toml:6: paths.local: 10.0.0.1 is an address of the tunnel itself`},
	{"too many locals", "[paths]\nlocal = ['a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q']\n", `s.toml:2: paths.local: 17 entries; at most 16 are allowed`},
	{"policy", "[paths]\npolicy = 'ecpm'\n", `s.toml:2: paths.policy: unknown policy "ecpm"; known: spray, ecmp, wcmp, letflow, conga, conga-flow, clove-ecn, presto, plb, flowbender, duplicate, active-backup`},
	{"policy of a peer", mainPart + "[[peer]]\npublic_key = '$1'\npolicy = 'x'\n", `s.toml:7: peer.policy: unknown policy "x"; known: spray, ecmp, wcmp, letflow, conga, conga-flow, clove-ecn, presto, plb, flowbender, duplicate, active-backup`},
	{"key near a new one", "[paths]\nflowlet_time = '1ms'\n", `s.toml:2: paths.flowlet_time: unknown key; the nearest known key is flowlet_timeout`},
	{"timeout as number", "[paths]\nflowlet_timeout = 500\n", `s.toml:2: paths.flowlet_timeout: want a time with its unit, such as "500us" or "13ms", not an integer`},
	{"timeout without unit", "[paths]\nflowlet_timeout = '500'\n", `s.toml:2: paths.flowlet_timeout: want a time with its unit, such as "500us" or "13ms", not "500"`},
	{"empty timeout", "[paths]\nflowlet_timeout = ''\n", `s.toml:2: paths.flowlet_timeout: want a time with its unit, such as "500us" or "13ms", not ""`},
	{"short timeout", "[paths]\nflowlet_timeout = '9us'\n", `s.toml:2: paths.flowlet_timeout: 9µs is out of bounds; want 10µs to 10s`},
	{"weights as one number", "[paths]\nweights = 3\n", `s.toml:2: paths.weights: want a list of numbers, not an integer`},
	{"weights in quotes", "[paths]\nweights = [1,\n'2']\n", `s.toml:3: paths.weights: want numbers without quotes, not a string`},
	{"weight of nothing", "[paths]\nweights = [1,\n0]\n", `s.toml:3: paths.weights: 0 is out of bounds; want 1 to 1000`},
	{"weights for nobody", mainPart + "[paths]\nlocal = 'eth0'\nweights = [1, 2]\n", `s.toml:7: paths.weights: needs a number for each entry of local: 1, not 2`},
	{"primary that is not there", mainPart + "[paths]\nlocal = ['eth0', 'eth1']\nprimary = 'eth2'\n", `s.toml:7: paths.primary: "eth2" is not listed in local`},
	{"primary as number", "[paths]\nprimary = 1\n", `s.toml:2: paths.primary: want a string in quotes, not an integer`},
	{"flowcell", "[paths]\nflowcell = 1000\n", `s.toml:2: paths.flowcell: 1000 is out of bounds; want 1500 to 67108864 bytes`},
	{"alpha", "[paths]\ndre_alpha = 1\n", `s.toml:2: paths.dre_alpha: 1 is out of bounds; want 0.01 to 0.99`},
	{"alpha in quotes", "[paths]\ndre_alpha = '0.1'\n", `s.toml:2: paths.dre_alpha: want a number from 0.01 to 0.99, without quotes, not "0.1"`},
	{"period", "[paths]\ndre_period = '1s'\n", `s.toml:2: paths.dre_period: 1s is out of bounds; want 1µs to 100ms`},
	{"name that show keeps", "[interface]\nname = 'interfaces'\n", `s.toml:2: interface.name: "interfaces" is a word of "srdtun show", and cannot name the tunnel`},
	{"large path mtu", "[paths]\nmtu = 70000\n", `s.toml:2: paths.mtu: 70000 is out of bounds; want 0 or 1280 to 65535 bytes`},
	{"endpoint in the tunnel", mainPart + "[[peer]]\npublic_key = '$2'\nendpoints = ['a.example:1',\n'10.0.0.1:1']\nallowed_ips = ['10.0.0.0/24', '10.0.0.1/32']\n", `s.toml:8: peer.endpoints: 10.0.0.1 is among allowed_ips: the route to it would be the tunnel itself`},
	{"path mtu", "[paths]\nmtu = 1279\n", `s.toml:2: paths.mtu: 1279 is out of bounds; want 0 or 1280 to 65535 bytes`},
	{"cipher", "[transport]\ncipher = 'rot13'\n", `s.toml:2: transport.cipher: unknown cipher "rot13"; known: auto, aes-256-gcm, aes-128-gcm, chacha20-poly1305`},
	{"udp", "[order]\nudp = ''\n", `s.toml:2: order.udp: unknown udp ""; known: ordered, unordered`},

	{"endpoint without port", mainPart + "[[peer]]\nendpoints = '10.0.0.1'\n", `s.toml:6: peer.endpoints: "10.0.0.1": the port is missing; want host:port`},
	{"endpoint without brackets", mainPart + "[[peer]]\nendpoints = ['a:1',\n'2001:db8::1:51820']\n", `s.toml:7: peer.endpoints: "2001:db8::1:51820": an IPv6 address needs brackets: [2001:db8::1]:51820`},
	{"listen with a scheme", "[metrics]\nlisten = 'http://127.0.0.1:9586'\n", `s.toml:2: metrics.listen: an address to listen on has no scheme: "127.0.0.1:9586"`},
	{"endpoint with a scheme", mainPart + "[[peer]]\nendpoints = ['a:1',\n'udp://10.1.0.2:51820']\n", `s.toml:7: peer.endpoints: "udp://10.1.0.2:51820": an endpoint has no scheme: "10.1.0.2:51820"`},
	{"endpoint with a scheme and brackets", mainPart + "[[peer]]\nendpoints = 'http://[2001:db8::1]:51820'\n", `s.toml:6: peer.endpoints: "http://[2001:db8::1]:51820": an endpoint has no scheme: "[2001:db8::1]:51820"`},
	{"endpoint twice", mainPart + "[[peer]]\nendpoints = ['[::1]:1',\n'[0::1]:1']\n", `s.toml:7: peer.endpoints: "[0::1]:1" is listed twice`},
	{"prefix twice in a peer", mainPart + "[[peer]]\npublic_key = '$1'\nallowed_ips = [\n'10.1.0.1/16',\n'10.1.0.2/16']\n", `s.toml:9: peer.allowed_ips: 10.1.0.0/16 is listed twice`},
	{"prefix in two peers", mainPart + "[[peer]]\npublic_key = '$1'\nallowed_ips = ['10.1.0.0/16']\n[[peer]]\npublic_key = '$2'\nallowed_ips = ['10.2.0.0/16',\n'10.1.0.0/16']\n", `s.toml:11: peer.allowed_ips: 10.1.0.0/16 belongs to another peer already, in line 7`},
	{"bad prefix behind a text over two lines", mainPart + "[[peer]]\n[[peer]]\n# [[peer]]\nname = \"\"\"\n[[peer]]\"\"\"\n[[peer]]\nallowed_ips = [ # '\n\n'fe80::1%eth0/64']\n", `s.toml:13: peer.allowed_ips: "fe80::1%eth0/64": not an IP prefix; want address/length`},
	{"bad prefix in the third peer", mainPart + "[[peer]]\n[[peer]]\n# [[peer]]\nname = '''[[peer]]'''\n[[peer]]\nallowed_ips = [ # '\n\n'fe80::1%eth0/64']\n", `s.toml:12: peer.allowed_ips: "fe80::1%eth0/64": not an IP prefix; want address/length`},
	{"keepalive", mainPart + "[[peer]]\npersistent_keepalive = 65536\n", `s.toml:6: peer.persistent_keepalive: 65536 is out of bounds; want 0 to 65535 seconds`},
	{"keepalive word", mainPart + "[[peer]]\npersistent_keepalive = 'on'\n", `s.toml:6: peer.persistent_keepalive: want a whole number of seconds from 0 to 65535 or "off", not "on"`},
	{"inline peer", "peer = [\n  { name = 'a' },\n  { name = 'b',\n    mtu = 3 } ]\n", `s.toml:4: peer.mtu: unknown key here; the nearest known key is mtu in [interface]`},

	{"not UTF-8", "[interface]\nname = 'a'\n# \xff\n", `s.toml:3: the file is not UTF-8 text`},
	{"UTF-16", "\xff\xfe[\x00i\x00", `s.toml:1: the file is not UTF-8 text`},
	{"control characters", "[interface]\n# " + strings.Repeat("\x01", 50), `s.toml:2: not valid TOML: the control character 0x01`},
	{"lone carriage return", "[interface]\n\rmtu = 1400\n", `s.toml:2: not valid TOML: the control character 0x0d`},
	{"too long", strings.Repeat("#\n", MaxFileBytes/2) + "#", `s.toml: the file has more than 1048576 bytes`},
	{"deep", "\nx = [[[[[[[[[]]]]]]]]]\n", `s.toml:2: nested deeper than 8`},
	{"deep key", "a.b.c.d.e.f.g.h.i = 1\n", `s.toml:1: nested deeper than 8`},
	{"no value", "[interface]\nmtu =\n", `s.toml:2: interface.mtu: not valid TOML: expected value but found '\n' instead`},
	{"key twice", "[interface]\nmtu = 1400\n\nmtu = 1500\n", `s.toml:4: interface.mtu: the key is in this section already, in line 2`},
	{"secret twice", "[interface]\nprivate_key = '$0'\nprivate_key = '$0'\n", `s.toml:3: interface.private_key: the key is in this section already, in line 2`},
	{"part of a key twice", "interface.name = 'a'\ninterface = 3\n", `s.toml:2: interface: the key is in this section already, in line 1`},
	{"first section twice", mainPart + "[interface]\nmtu = 1400\n", `s.toml:5: interface: the section is there already, in line 1`},
	{"section twice, others between", mainPart + "[paths]\n[order]\n[ paths ]\n", `s.toml:7: paths: the section is there already, in line 5`},
	{"section twice, unknown", "[intreface]\n[intreface]\n", `s.toml:2: intreface: the section is there already, in line 1`},
	{"section named loopback", "[interface]\nname = 'lo'\n", `s.toml:2: interface.name: "lo" is the loopback device, and cannot name the tunnel`},
	{"section twice", "[order]\n[paths]\n\n[order]\n", `s.toml:4: order: the section is there already, in line 1`},
	{"open string", "[interface]\nname = \"abc\nmtu = 1400\n", `s.toml:2: interface.name: not valid TOML: strings cannot contain newlines`},
	{"open string at the end", "[interface]\n\nname = \"abc", `s.toml:3: interface.name: not valid TOML: unexpected EOF; expected '"'`},
	{"open header", "\n[interface\nname = 'x'\n", `s.toml:2: not valid TOML: expected '.' or ']' to end table name, but got '\n' instead`},
	{"address without quotes", "[interface]\naddress = 10.1.1.1/24\n", `s.toml:2: interface.address: not valid TOML: a text stands in quotes: "10.1.1.1/24"`},
	{"list without quotes", mainPart + "[[peer]]\nallowed_ips = [\n  '10.1.0.0/16',\n  10.2.0.0/16,\n]\n", `s.toml:8: peer.allowed_ips: not valid TOML: a text stands in quotes: "10.2.0.0/16"`},
	{"list without brackets", mainPart + "[[peer]]\nallowed_ips = '10.1.0.0/16', '10.2.0.0/16'\n", `s.toml:6: peer.allowed_ips: not valid TOML: several entries stand in brackets`},
	{"two names", "[interface]\nname = 'a', 'b'\n", `s.toml:2: interface.name: not valid TOML: want one value`},
	{"host without quotes", mainPart + "[[peer]]\nendpoints = host:1\n", `s.toml:6: peer.endpoints: not valid TOML: a text stands in quotes`},
	{"unknown key without quotes", mainPart + "[[peer]]\nendpoint = host:1\n", `s.toml:6: peer.endpoint: not valid TOML: a text stands in quotes; only numbers, times, true and false stand without them`},
	{"inline table without quotes", "peer = [{ name = hub }]\n", `s.toml:1: peer.name: not valid TOML: a text stands in quotes`},
	{"word without quotes", "[interface]\ntable = off\n", `s.toml:2: interface.table: not valid TOML: a text stands in quotes: "off"`},
	{"number in words", "[interface]\nmtu = off", `s.toml:2: interface.mtu: not valid TOML: want bytes, 1280..65520`},
	{"number with unit", "[interface]\nmtu = 1420 bytes\n", `s.toml:2: interface.mtu: not valid TOML: want bytes, 1280..65520`},
	{"number with comma", "[interface]\nmtu = 1,420\n", `s.toml:2: interface.mtu: not valid TOML: want bytes, 1280..65520`},
	{"number with zero", "[interface]\nmtu = 01420\n", `s.toml:2: interface.mtu: not valid TOML: Invalid integer "01420": cannot have leading zeroes`},
	{"numbers in words", "[paths]\nweights = [1, x]\n", "s.toml:2: paths.weights: not valid TOML: want a list of numbers 1..1000, one for each of `local`"},
	{"flag in words", "[interface]\noffload = yes # or no\n", `s.toml:2: interface.offload: not valid TOML: want true or false`},
	{"curly quotes", "[interface]\nname = “lab”\n", `s.toml:2: interface.name: not valid TOML: want straight quotes ("), or no quotes for a number, true and false`},
	{"command without quotes", "[interface]\npost_up = [[logger, hunter2]]\n", `s.toml:2: interface.post_up: not valid TOML: a text stands in quotes`},
	{"secret without quotes", "[interface]\nprivate_key = $0\n", `s.toml:2: interface.private_key: not valid TOML: want a string in quotes on one line`},
	{"secret as in wg", "[Interface]\nPrivateKey = $0\n", `s.toml:2: looks like a wg(8) file; "srdtun import FILE" makes one for srdtun of it`},
	{"file of wg", "# home\n[Interface]\nListenPort = 5\n  privatekey=$0\n[Peer]\nPublicKey = $1\nAllowedIPs = 10.0.0.0/8, ::/0\n[Peer]\nPublicKey = $2\n", `s.toml:4: looks like a wg(8) file; "srdtun import FILE" makes one for srdtun of it`},
	{"secret without key", "[interface]\n$0\n", `s.toml:2: interface: not valid TOML: want a string in quotes on one line`},
}

func TestFaults(t *testing.T) {
	for _, f := range faulty {
		t.Run(f.name, func(t *testing.T) {
			cfg, err := Parse("s.toml", []byte(withKeys(f.doc)))
			if err == nil {
				t.Fatalf("accepted: %+v", cfg)
			}
			want := strings.ReplaceAll(f.want, "\n", "?")
			if err.Error() != want {
				t.Errorf("got  %s\nwant %s", err, want)
			}
			var typed *Error
			if !errors.As(err, &typed) || typed.File != "s.toml" {
				t.Errorf("%#v is not an *Error for the file", err)
			}
		})
	}
}

// TestFaultsWithOtherLineEnds adds a byte order mark, three lines and carriage returns to each
// document. The error must have the correct line number.
func TestFaultsWithOtherLineEnds(t *testing.T) {
	for _, f := range faulty {
		doc := withKeys(f.doc)
		if strings.HasPrefix(f.name, "UTF-16") || f.name == "too long" || strings.Contains(f.want, "not valid TOML") || strings.Contains(doc, `"""`) {
			continue // the text of the fault depends on the line end
		}
		_, plain := Parse("s.toml", []byte("# 1\n# 2\n# 3\n"+doc))
		_, moved := Parse("s.toml", []byte("\ufeff# 1\r\n# 2\r\n# 3\r\n"+strings.ReplaceAll(doc, "\n", "\r\n")))
		if plain == nil || moved == nil || plain.Error() != moved.Error() {
			t.Errorf("%s:\n%v\n%v", f.name, plain, moved)
			continue
		}
		var before, after *Error
		_, err := Parse("s.toml", []byte(doc))
		if !errors.As(err, &before) || !errors.As(moved, &after) {
			t.Fatalf("%s: %v, %v", f.name, err, moved)
		}
		if missing := strings.Contains(before.Msg, "is missing;") && before.Line == 1; after.Line != before.Line+3 && !missing {
			t.Errorf("%s: line %d, want %d", f.name, after.Line, before.Line+3)
		}
	}
}

// TestFaultOrderIsFixed checks that the reported fault does not depend on the random order of a
// map.
func TestFaultOrderIsFixed(t *testing.T) {
	doc := "[interface]\n"
	for _, k := range []string{"zz", "yy", "xx", "ww", "vv", "uu", "tt", "ss", "rr", "qq"} {
		doc += k + " = 1\n"
	}
	for range 50 {
		_, err := Parse("s.toml", []byte(doc))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:2: interface.zz: ") {
			t.Fatal(err)
		}
	}
}

func TestErrorIsOneLine(t *testing.T) {
	e := &Error{File: "a\nb\x1b[2J", Line: 3, Key: "k\r", Msg: "m\u2028n"}
	if got, want := e.Error(), "a?b?[2J:3: k?: m?n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := strings.Repeat("é", 40)
	if got := clipped("x" + long); got != "x"+strings.Repeat("é", 31)+"..." {
		t.Errorf("cut inside a character: %q", got)
	}
}
