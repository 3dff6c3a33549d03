#!/bin/sh
# deb-postrm(5): a removal keeps the configurations, a purge takes them, with their keys,
# what services have written down, and the group.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
[ "$1" = purge ] || exit 0
# An agent of the fleet may have run as the user that goes: the next user of its number must
# own nothing. That user may put links there meanwhile, so each file is changed from its own
# directory.
if [ -d /var/lib/srdtun-fleet ] && id srdtun >/dev/null 2>&1; then
  find /var/lib/srdtun-fleet -xdev -user srdtun -execdir chown -h root:root {} +
fi
rm -f /etc/systemd/system/*.wants/srdtun@*.service
rm -rf /etc/systemd/system/srdtun@*.service.d /etc/srdtun /run/srdtun /var/lib/srdtun /var/lib/private/srdtun
if [ -d /var/lib/private ]; then rmdir --ignore-fail-on-non-empty /var/lib/private; fi
# The user is of an earlier version, whose services all were its.
if id srdtun >/dev/null 2>&1; then userdel srdtun; fi
if getent group srdtun >/dev/null; then groupdel srdtun; fi
