#!/bin/sh
# deb-postrm(5): a removal keeps the configurations, a purge takes them, with their keys,
# and the user.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
[ "$1" = purge ] || exit 0
rm -f /etc/systemd/system/*.wants/srdtun@*.service
rm -rf /etc/systemd/system/srdtun@*.service.d /etc/srdtun /run/srdtun
if id srdtun >/dev/null 2>&1; then userdel srdtun; fi
