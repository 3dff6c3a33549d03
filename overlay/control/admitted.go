package control

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// GroupEnv is the environment variable with the name of a group. Members of the group in
// GroupEnv may use the control socket, as root and the daemon's user may.
const GroupEnv = "SRDTUN_GROUP"

// AdmittedGroups returns the group that GroupEnv names.
func AdmittedGroups() ([]uint32, error) {
	name := os.Getenv(GroupEnv)
	if name == "" {
		return nil, nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", GroupEnv, err)
	}
	id, err := strconv.ParseUint(g.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", GroupEnv, err)
	}
	return []uint32{uint32(id)}, nil
}

// admitted describes how to get access to the socket at path: as root, or as a member of a group
// other than root's.
func admitted(path string) string {
	for _, id := range rundir.Groups(path) {
		if id == 0 {
			break
		}
		if g, err := user.LookupGroupId(strconv.Itoa(int(id))); err == nil {
			return "use sudo, or join the group " + g.Name
		}
	}
	return "use sudo"
}
