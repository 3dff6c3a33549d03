#!/bin/sh
# After an installation (1) or an upgrade (2): makes the service's user. An upgrade
# restarts what runs, which keeps devices, routes and ports.
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers srdtun.conf
elif ! id srdtun >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir / --shell /sbin/nologin srdtun
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$1" -gt 1 ]; then systemctl try-restart 'srdtun@*.service'; fi
fi
exit 0
