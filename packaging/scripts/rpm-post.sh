#!/bin/sh
# After an installation (1) or an upgrade (2).
# @installed.sh@
if [ "$1" -gt 1 ]; then installed upgrade; else installed ''; fi
exit 0
