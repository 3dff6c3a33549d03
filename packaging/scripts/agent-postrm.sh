#!/bin/sh
# deb-postrm(5): a removal keeps what the agent is told, and its files: the daemon goes on with
# its peers. A purge takes them and the users, unless the other agent is installed. Files go
# before the users: a number that is given again must own nothing.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
[ "$1" = purge ] || exit 0
rm -f /etc/systemd/system/*.wants/@PROGRAM@@*.service
rm -rf /etc/systemd/system/@PROGRAM@@*.service.d
if [ -e /usr/bin/@OTHER@ ]; then exit 0; fi
rm -rf /etc/srdtun-fleet /var/lib/srdtun-fleet
getent passwd | cut -d: -f1 | while read -r user; do
  case $user in _srdtun-fleet-* | _srdtun-fleet) userdel "$user" </dev/null ;; esac
done
