#!/bin/sh
# deb-prerm(5): ends what runs before the program goes.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl stop '@PROGRAM@@*.service'
fi
