// Package control is how the command talks to the daemon of one interface: a
// unix socket in the run directory, one JSON request line for each JSON reply
// line, never TCP.
//
//	{"op":"show"}     {"status":{...}}        Status is what `show --json` prints
//	{"op":"version"}  {"version":"v1.2.3"}
//	{"op":"set","key":"paths.policy","value":"conga"}  {}
//	{"op":"check","key":"paths.policy","value":"conga"}  {}  what set would say
//	{"op":"flows","ms":1000}               {"flows":{...}}   inner flows, counted for so long
//	{"op":"ping","peer":"hub","every":true}  {"pings":{...}}   round trips of paths
//	{"op":"down"}     {}                      the daemon ends after the reply
//	anything else     {"error":"..."}
//
// The socket has mode 0660, and every peer is looked up with SO_PEERCRED and
// SO_PEERGROUPS (unix(7), socket(7)): root, the daemon's own user, and members
// of the socket's group are served. Whoever is refused gets one reply line that
// says so.
//
// A daemon holds an flock(2) on the interface's lock file for as long as it
// runs. The kernel drops it with the process, however that ends, so a socket
// without a lock is stale and is replaced, and two daemons of one name exclude
// each other without a race.
package control
