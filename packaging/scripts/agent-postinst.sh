#!/bin/sh
# deb-postinst(5): an upgrade restarts what runs: a member that is restarted is not missed.
set -e
[ "$1" = configure ] || exit 0
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ -n "$2" ]; then systemctl try-restart '@PROGRAM@@*.service' || true; fi
fi
