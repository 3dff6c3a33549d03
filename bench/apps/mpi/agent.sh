#!/bin/sh
# agent.sh HOST COMMAND..: what ssh would do for Open MPI, with a network namespace for a
# host. Open MPI tells hosts apart by their names, which it looks up, and keeps files in a
# folder for each. The mounts of ip-netns(8) are seen by the command alone.
host=$1
shift
export TMPDIR="$MPI_FOLDER/$host"
mkdir -p "$TMPDIR"
exec ip netns exec "$host" unshare --uts sh -c "mount --bind $MPI_FOLDER/hosts /etc/hosts && hostname $host && exec $*"
