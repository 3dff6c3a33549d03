#!/bin/sh
# each.sh NAME COMMAND [NAME COMMAND]...: runs shell commands one after the other, all of them
# although one fails, and says at the end which did, and NEXT (environment). Then it fails.
set -eu
failed=''
while [ $# -gt 1 ]; do
  sh -c "$2" || failed="$failed, $1"
  shift 2
done
[ -z "$failed" ] || { echo "FAILED: ${failed#, }${NEXT:+. $NEXT}"; exit 1; }
