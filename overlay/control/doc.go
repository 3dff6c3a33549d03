// Package control is how the command talks to the daemon of one interface: a
// unix socket in the run directory, one JSON request line for each JSON reply
// line, never TCP.
//
//	{"op":"show"}     {"status":{...}}        Status is what `show --json` prints
//	{"op":"version"}  {"version":"v1.2.3"}
//	{"op":"change","change":{...}}  {"changed":[...]}  Change, and Differences
//	{"op":"change","enclosed":true}  the same; the Change is in the file whose descriptor comes along
//	{"op":"restarting"}  {}  the service manager starts the daemon again when it has ended
//	{"op":"config"}   {"config":"..."}        with its secrets
//	{"op":"events","after":17}  {"happened":{...}}  what happened after event 17
//	{"op":"flows","ms":1000}               {"flows":{...}}   inner flows, counted for so long
//	{"op":"ping","peer":"hub","every":true}  {"pings":{...}}   round trips of paths
//	{"op":"down"}     {}                      the daemon ends after the reply
//	anything else     {"error":"..."}
//
// The socket has mode 0660, and every peer is looked up with SO_PEERCRED and
// SO_PEERGROUPS (unix(7), socket(7)): root, the daemon's own user, and members
// of the socket's groups are served. Whoever is refused gets one reply line that
// says so. All of them may look and choose path policies. Another configuration could send
// all traffic of the host elsewhere, and a configuration has secrets: the rest is for
// masters. They are root, and the owner of the configuration file where the daemon is his:
// he can read and write the file anyway. The user of a service owns no file, so that a
// process which runs as that user is no master.
//
// A client tells its secrets to a process that it has looked at (Client.Trusted), and
// believes nothing of what any process answers (reply.go).
//
// A daemon holds an flock(2) on the interface's lock file for as long as it
// runs. The kernel drops it with the process, however that ends, so a socket
// without a lock is stale and is replaced, and two daemons of one name exclude
// each other without a race.
package control
