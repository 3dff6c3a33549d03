#!/bin/sh
# After the last one was removed (0). As is usual for rpm, the group and the
# configurations that somebody wrote stay.
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = 0 ]; then rm -rf /run/srdtun /var/lib/srdtun /var/lib/private/srdtun; fi
exit 0
