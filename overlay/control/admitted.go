package control

import (
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// admitted says who may use the socket at path: root, and the members of its group if
// that is another one than root's.
func admitted(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Gid == 0 {
		return "use sudo"
	}
	name := strconv.Itoa(int(st.Gid))
	if g, err := user.LookupGroupId(name); err == nil {
		name = g.Name
	}
	return "use sudo, or join the group " + name
}
