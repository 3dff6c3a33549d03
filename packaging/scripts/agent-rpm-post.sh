#!/bin/sh
# After an installation (1) or an upgrade (2). An upgrade restarts what runs: a member that is
# restarted is not missed.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$1" -gt 1 ]; then systemctl try-restart '@PROGRAM@@*.service' || true; fi
fi
exit 0
