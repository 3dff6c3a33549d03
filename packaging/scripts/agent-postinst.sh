#!/bin/sh
# deb-postinst(5): makes the agents' user. An upgrade restarts what runs: a member that is
# restarted is not missed.
set -e
[ "$1" = configure ] || exit 0
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers @PROGRAM@.conf
elif ! id _srdtun-fleet >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin _srdtun-fleet
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ -n "$2" ]; then systemctl try-restart '@PROGRAM@@*.service'; fi
fi
