#!/bin/sh
# After the last one was removed (0). As is usual for rpm, the user and the
# configurations that somebody wrote stay.
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = 0 ]; then rm -rf /run/srdtun; fi
exit 0
