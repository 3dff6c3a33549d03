// Package control connects the command to the daemon of one interface. The connection is a unix
// socket in the run directory, never TCP. Each request and each reply is one line of JSON.
//
//	{"op":"show"}     {"status":{...}}        Status, as `show --json` prints it
//	{"op":"show","peer":"hub"}  the same with this peer alone
//	{"op":"show","brief":true}  the same without peers
//	{"op":"show","reached":true}  the same with 64 of the peers that have paths, at most
//	{"op":"version"}  {"version":"v1.2.3"}
//	{"op":"change","change":{...}}  {"changed":[...]}  Change, and Differences
//	{"op":"change","enclosed":true}  the same; the Change is in a file, passed as a descriptor
//	{"op":"restarting"}  {}  the service manager starts the daemon again when it has ended
//	{"op":"config"}   {"config":"..."}        with its secrets
//	{"op":"events","after":17}  {"happened":{...}}  the events after number 17
//	{"op":"flows","ms":1000}               {"flows":{...}}   inner flows, counted for that time
//	{"op":"ping","peer":"hub","every":true}  {"pings":{...}}   round trips of paths
//	{"op":"down"}     {}                      the daemon ends after the reply
//	anything else     {"error":"..."}
//
// The socket has mode 0660. The server checks every caller with SO_PEERCRED and SO_PEERGROUPS
// (unix(7), socket(7)). Root, the daemon's own user, and members of the socket's groups have
// access. A caller without access gets one line of JSON with the refusal.
//
// All callers with access may read the status and choose path policies. Only masters may read or
// replace the configuration, because it has secrets, and could redirect all traffic of the host.
// Masters are root, and the owner of the configuration file if he runs the daemon himself. The user
// of a systemd service owns no configuration file, so a process of that user is not a master.
//
// A client sends secrets only to a process that it has checked (Client.Trusted). A client treats
// every reply as untrusted input (reply.go).
//
// A running daemon holds an flock(2) on the interface's lock file. The kernel releases the lock
// when the process exits, even if it is killed. If no process holds the lock, the socket is stale,
// and the next daemon replaces it. The lock also prevents, without a race, that a second daemon
// uses the same interface name.
package control
