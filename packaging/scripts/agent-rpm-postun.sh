#!/bin/sh
# After a removal. As is usual for rpm, the user, what somebody wrote, and the files of the
# peers stay: so no other user is given the number that owns them.
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
exit 0
