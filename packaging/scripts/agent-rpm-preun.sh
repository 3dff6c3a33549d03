#!/bin/sh
# Before the last one is removed (0): ends what runs.
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
  systemctl stop '@PROGRAM@@*.service'
fi
exit 0
