#!/bin/sh
# After an installation (1) or an upgrade (2): makes the agents' user. An upgrade restarts
# what runs: a member that is restarted is not missed.
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers @PROGRAM@.conf
elif ! id _srdtun-fleet >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir / --shell /sbin/nologin _srdtun-fleet
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$1" -gt 1 ]; then systemctl try-restart '@PROGRAM@@*.service'; fi
fi
exit 0
