#!/bin/sh
# After a removal. As is usual for rpm, the users, what somebody wrote, and the files of the
# peers stay: so no other user is given a number that owns them.
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
exit 0
