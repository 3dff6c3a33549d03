#!/bin/sh
# deb-postinst(5): makes the service's user. An upgrade restarts what runs, which keeps
# devices, routes and ports.
set -e
[ "$1" = configure ] || exit 0
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers srdtun.conf
elif ! id srdtun >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin srdtun
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ -n "$2" ]; then systemctl try-restart 'srdtun@*.service'; fi
fi
