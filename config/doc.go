// Package config parses a TOML file into a typed and validated configuration.
//
// The keys have the names of wg(8) and wg-quick(8) in snake case. Keys without a WireGuard
// counterpart describe the multipath tunnel. Parsing is strict: an unknown key, a wrong type, a
// value out of bounds, or a contradiction makes the whole file invalid. For an invalid file, an
// [Error] names the file, the line and the key. A valid Config needs no further checks.
//
//	[interface]
//	name                  text, default: the file name without its extension
//	private_key           base64, as `wg genkey` prints (or private_key_file)
//	private_key_file      path, relative to the configuration file
//	address               list of addresses, with or without prefix length
//	listen_port           0..65535, default 51820; 0 lets the kernel choose
//	mtu                   1280..65520, default 1500
//	fwmark                0..4294967295 or "off", default 0
//	table                 "auto" (default), "off" or a number
//	workers               0..16, default 0: half of the processors, up to four
//	offload               true (default) or false: single packets pass the device
//	dns                   list of addresses and search domains
//	pre_up, post_up       lists of commands, each a list of words
//	pre_down, post_down   likewise
//
//	[paths]
//	source_ports          1..256, default 32
//	port_range            "first-last", default: any free port
//	local                 list of addresses or interface names, default: any
//	policy                "spray" (default), "ecmp", "wcmp", "letflow", "conga",
//	                      "conga-flow", "clove-ecn", "presto", "plb", "flowbender",
//	                      "duplicate" or "active-backup": see docs/policies.md
//	flowlet_timeout       "10us".."10s", default: the policy's own
//	weights               list of numbers 1..1000, one for each of local; default: equal
//	primary               the one of local that goes first, default: none
//	flowcell              bytes, 1500..67108864, default 65536
//	dre_alpha             0.01..0.99, default 0.125
//	dre_period            "1us".."100ms", default "20us"
//	link_mbit             rate of each path in Mbit/s, default 0: learn it
//	mtu                   upper bound of the path MTU, default 0: discover it
//
//	[transport]
//	cipher                "auto" (default), "aes-256-gcm", "aes-128-gcm" or
//	                      "chacha20-poly1305"
//
//	[order]
//	udp                   "ordered" (default) or "unordered"
//
//	[metrics]
//	listen                "address:port" or "unix:/path" for Prometheus, default: none
//	per_path              true or false (default): series for each path as well
//
//	[dashboard]
//	listen                "address:port" or "unix:/path" for a browser, default: none
//
//	[peers]
//	dir                   path of a directory of files with one [[peer]] each
//	owner                 user who may have that directory, besides root
//	allow                 list of prefixes for allowed_ips in files of that user
//
//	[[peer]]              any number of them
//	name                  text, optional
//	public_key            base64, as `wg pubkey` prints
//	preshared_key         base64, optional (or preshared_key_file)
//	preshared_key_file    path, relative to the configuration file
//	endpoints             list of "host:port"
//	allowed_ips           list of prefixes
//	policy                as in [paths], default: what stands there
//	persistent_keepalive  seconds, 0..65535 or "off", default 0
//
// A list with one member may also be written as a single string.
package config
