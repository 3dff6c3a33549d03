#!/bin/sh
# deb-postinst(5).
set -e
[ "$1" = configure ] || exit 0
# @installed.sh@
installed "$2"
